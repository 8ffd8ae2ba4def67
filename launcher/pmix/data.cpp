// SPDX-License-Identifier: Apache-2.0
//
// What ranks ask for: data of another rank that no fence has carried (direct modex), published
// values, which the root keeps packed (MPI_Publish_name uses them), and facts about the job that
// PMIx_Get has no key for (PMIx_Query_info). The library itself answers the queries that it
// supports.
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>

#include "launcher/pmix/server.hpp"
#include "launcher/pmix/upcalls.hpp"

namespace batchai::launcher::pmix {
namespace {

struct Request {
    Box& box;
    std::function<void(pmix_status_t, std::string)> answer;
};

std::string pack(const pmix_value_t& value) {
    Buffer buffer;
    return buffer.pack(&value, 1, PMIX_VALUE) ? buffer.bytes() : std::string();
}

// Attributes that say how to publish, and are not items to publish.
bool is_directive(const pmix_info_t& info) {
    for (const char* key : {PMIX_RANGE, PMIX_PERSISTENCE, PMIX_TIMEOUT, PMIX_USERID, PMIX_GRPID,
                            PMIX_WAIT, PMIX_REQUESTOR_IS_CLIENT, PMIX_REQUESTOR_IS_TOOL}) {
        if (PMIX_CHECK_KEY(&info, key)) return true;
    }
    return false;
}

std::vector<std::string> list(char** keys) {
    std::vector<std::string> names;
    for (; keys != nullptr && *keys != nullptr; ++keys) names.emplace_back(*keys);
    return names;
}

// Slurm sets the variable since 23.02.
std::optional<std::uint32_t> seconds_left() {
    const char* end = std::getenv("SLURM_JOB_END_TIME");
    if (end == nullptr) return std::nullopt;
    const long left = std::strtol(end, nullptr, 10) - static_cast<long>(std::time(nullptr));
    return static_cast<std::uint32_t>(left > 0 ? left : 0);
}

bool answer(const char* key, InfoList& info) {
    const std::string name = key;
    if (name == PMIX_QUERY_NAMESPACES) {
        info.add(key, names().names());
    } else if (name == PMIX_QUERY_NUM_PSETS) {
        info.add(key, std::uint32_t{0});
    } else if (name == PMIX_QUERY_PSET_NAMES) {
        info.add(key, std::string());
    } else if (const auto left = seconds_left(); name == PMIX_TIME_REMAINING && left) {
        info.add(key, *left);
    } else {
        return false;
    }
    return true;
}

}  // namespace

pmix_status_t on_modex(const pmix_proc_t* proc, const pmix_info_t[], size_t,
                       pmix_modex_cbfunc_t function, void* cbdata) {
    hand_over([rank = names().number(*proc), answer = ModexAnswer{function, cbdata}](Host& host) {
        rank ? host.modex(*rank, answer) : complete(answer, PMIX_ERR_NOT_FOUND, {});
    });
    return PMIX_SUCCESS;
}

void Server::request_modex(std::uint32_t rank,
                           std::function<void(pmix_status_t, std::string)> answer) const {
    auto* request = new Request{*target().box, std::move(answer)};
    const pmix_proc_t proc = names().proc(rank);
    const auto done = [](pmix_status_t status, char* data, size_t size, void* cbdata) {
        const std::unique_ptr<Request> owned(static_cast<Request*>(cbdata));
        std::string bytes = data == nullptr ? std::string() : std::string(data, size);
        owned->box.post([answer = std::move(owned->answer), status,
                         bytes = std::move(bytes)]() mutable { answer(status, std::move(bytes)); });
    };
    const pmix_status_t status = PMIx_server_dmodex_request(&proc, done, request);
    if (status != PMIX_SUCCESS) done(status, nullptr, 0, request);
}

pmix_status_t on_publish(const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo,
                         pmix_op_cbfunc_t function, void* cbdata) {
    const auto owner = names().number(*proc);
    if (!owner) return PMIX_ERR_NOT_FOUND;
    std::vector<Item> items;
    for (size_t i = 0; i < ninfo; ++i) {
        if (!is_directive(info[i])) items.push_back({*owner, info[i].key, pack(info[i].value)});
    }
    hand_over([items = std::move(items), answer = OpAnswer{function, cbdata}](Host& host) mutable {
        host.publish(std::move(items), answer);
    });
    return PMIX_SUCCESS;
}

pmix_status_t on_lookup(const pmix_proc_t*, char** keys, const pmix_info_t info[], size_t ninfo,
                        pmix_lookup_cbfunc_t function, void* cbdata) {
    bool wait = false;
    for (size_t i = 0; i < ninfo; ++i) wait = wait || PMIX_CHECK_KEY(&info[i], PMIX_WAIT);
    hand_over([names = list(keys), wait, answer = LookupAnswer{function, cbdata}](
                  Host& host) mutable { host.lookup(std::move(names), wait, answer); });
    return PMIX_SUCCESS;
}

pmix_status_t on_unpublish(const pmix_proc_t* proc, char** keys, const pmix_info_t[], size_t,
                           pmix_op_cbfunc_t function, void* cbdata) {
    const auto owner = names().number(*proc);
    if (!owner) return PMIX_ERR_NOT_FOUND;
    hand_over([owner = *owner, keys = list(keys), answer = OpAnswer{function, cbdata}](
                  Host& host) mutable { host.unpublish(owner, std::move(keys), answer); });
    return PMIX_SUCCESS;
}

pmix_status_t on_query(pmix_proc_t*, pmix_query_t queries[], size_t nqueries,
                       pmix_info_cbfunc_t function, void* cbdata) {
    InfoList info;
    bool any = false, all = true;
    for (size_t i = 0; i < nqueries; ++i) {
        for (char** key = queries[i].keys; key != nullptr && *key != nullptr; ++key) {
            const bool known = answer(*key, info);
            any = any || known;
            all = all && known;
        }
    }
    if (!any) return PMIX_ERR_NOT_FOUND;
    complete(InfoAnswer{function, cbdata}, all ? PMIX_SUCCESS : PMIX_ERR_PARTIAL_SUCCESS, info);
    return PMIX_SUCCESS;
}

}  // namespace batchai::launcher::pmix
