// SPDX-License-Identifier: Apache-2.0
//
// PMIx_Query_info: facts about the job that PMIx_Get has no key for. The library itself answers
// what it supports.
#include <cstdlib>
#include <ctime>
#include <optional>

#include "launcher/pmix/upcalls.hpp"

namespace batchai::launcher::pmix {
namespace {

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
        info.add(key, target().nspace);
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
