// SPDX-License-Identifier: Apache-2.0
//
// PMIx_Spawn, and with it MPI_Comm_spawn. Of several ranks that call MPI_Comm_spawn together, one
// arrives here. An order whose attributes are not all kept gets an error.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>

#include "launcher/pmix/upcalls.hpp"

namespace batchai::launcher::pmix {
namespace {

constexpr const char* kNonPmi = "pmix.nonpmi";  // Open MPI's, for programs without MPI

// Attributes that need no action: the library has kept them, they describe the program, or they
// say what is done anyway.
bool is_kept_anyway(const pmix_info_t& info) {
    constexpr const char* kKeys[] = {PMIX_SETUP_APP_ENVARS,
                                     PMIX_PERSONALITY,
                                     PMIX_PROGRAMMING_MODEL,
                                     kNonPmi,
                                     PMIX_REQUESTOR_IS_CLIENT,
                                     PMIX_FWD_STDOUT,
                                     PMIX_FWD_STDERR,
                                     PMIX_USERID,
                                     PMIX_GRPID};
    return std::any_of(std::begin(kKeys), std::end(kKeys),
                       [&](const char* key) { return PMIX_CHECK_KEY(&info, key); }) ||
           (info.value.type == PMIX_BOOL && !info.value.data.flag);
}

std::string text_of(const pmix_info_t& info) {
    const bool is_text = info.value.type == PMIX_STRING && info.value.data.string != nullptr;
    return is_text ? info.value.data.string : "";
}

// Applies attributes of the whole order, or of its last program. hosts: of the same. Returns the
// attribute that is not kept; empty: all are.
std::string apply(const pmix_info_t info[], size_t count, SpawnJob& order, std::string& hosts) {
    for (size_t i = 0; i < count; ++i) {
        const std::string text = text_of(info[i]);
        if (PMIX_CHECK_KEY(&info[i], PMIX_HOST) && text.find(':') == text.npos) {
            hosts = text;
        } else if (PMIX_CHECK_KEY(&info[i], PMIX_WDIR) && !order.programs.empty()) {
            order.programs.back().directory = text;
        } else if (PMIX_CHECK_KEY(&info[i], PMIX_MAPBY) && (text == "node" || text == "slot")) {
            order.by_node = text == "node";
        } else if (PMIX_CHECK_KEY(&info[i], PMIX_NOTIFY_COMPLETION)) {
            order.tell_end = PMIX_INFO_TRUE(&info[i]);
        } else if (!is_kept_anyway(info[i])) {
            return std::string(info[i].key) + (text.empty() ? "" : " " + text);
        }
    }
    return {};
}

Program program_of(const pmix_app_t& app) {
    Program program;
    program.ranks = app.maxprocs;
    program.argv = {app.cmd == nullptr ? "" : app.cmd};
    for (char** word = app.argv; word != nullptr && *word != nullptr; ++word) {
        if (word != app.argv) program.argv.emplace_back(*word);
    }
    for (char** entry = app.env; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string text = *entry;
        const auto equals = text.find('=');
        if (equals != text.npos)
            program.environment[text.substr(0, equals)] = text.substr(equals + 1);
    }
    if (app.cwd != nullptr) program.directory = app.cwd;
    return program;
}

}  // namespace

pmix_status_t on_spawn(const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo,
                       const pmix_app_t apps[], size_t napps, pmix_spawn_cbfunc_t function,
                       void* cbdata) {
    const auto rank = names().number(*proc);
    if (!rank) return PMIX_ERR_NOT_FOUND;
    SpawnJob order;
    order.parent = static_cast<int>(*rank);
    std::string hosts;
    std::string refused = apply(info, ninfo, order, hosts);
    for (size_t i = 0; i < napps; ++i) {
        if (apps[i].maxprocs < 1) return PMIX_ERR_BAD_PARAM;
        order.programs.push_back(program_of(apps[i]));
        order.hosts.push_back(hosts);
        const std::string one = apply(apps[i].info, apps[i].ninfo, order, order.hosts.back());
        if (refused.empty()) refused = one;
    }
    if (order.programs.empty()) return PMIX_ERR_BAD_PARAM;
    if (!refused.empty()) {
        hand_over([number = order.parent, refused](Host& host) {
            host.spawn_refused(
                number, "with the option " + refused + ", which batchai-launch does not have");
        });
        return PMIX_ERR_NOT_SUPPORTED;
    }
    hand_over([order = std::move(order), answer = SpawnAnswer{function, cbdata}](
                  Host& host) mutable { host.spawn(std::move(order), answer); });
    return PMIX_SUCCESS;
}

}  // namespace batchai::launcher::pmix
