// SPDX-License-Identifier: Apache-2.0
//
// PMIx_Job_control: passes signals to ranks of the job. The library itself handles files to remove
// after a rank. Other requests are refused.
#include <csignal>
#include <cstring>
#include <optional>

#include "launcher/pmix/upcalls.hpp"

namespace batchai::launcher::pmix {
namespace {

std::optional<int> signal_of(const pmix_info_t& directive) {
    if (PMIX_CHECK_KEY(&directive, PMIX_JOB_CTRL_SIGNAL)) {
        if (directive.value.type != PMIX_INT) return std::nullopt;
        return directive.value.data.integer;
    }
    if (!PMIX_INFO_TRUE(&directive)) return std::nullopt;
    if (PMIX_CHECK_KEY(&directive, PMIX_JOB_CTRL_KILL)) return SIGKILL;
    if (PMIX_CHECK_KEY(&directive, PMIX_JOB_CTRL_TERMINATE)) return SIGTERM;
    if (PMIX_CHECK_KEY(&directive, PMIX_JOB_CTRL_PAUSE)) return SIGSTOP;
    if (PMIX_CHECK_KEY(&directive, PMIX_JOB_CTRL_RESUME)) return SIGCONT;
    return std::nullopt;
}

}  // namespace

pmix_status_t on_control(const pmix_proc_t* requestor, const pmix_proc_t targets[], size_t ntargets,
                         const pmix_info_t directives[], size_t ndirs, pmix_info_cbfunc_t, void*) {
    std::vector<std::uint32_t> ranks;
    for (size_t i = 0; i < ntargets; ++i) {
        if (std::strcmp(targets[i].nspace, requestor->nspace) != 0) return PMIX_ERR_NO_PERMISSIONS;
        ranks.push_back(targets[i].rank);
    }
    if (ranks.empty()) ranks.push_back(kAllRanks);
    std::vector<int> signals;
    for (size_t i = 0; i < ndirs; ++i) {
        const auto signal = signal_of(directives[i]);
        if (!signal || *signal < 1 || *signal > SIGRTMAX) return PMIX_ERR_NOT_SUPPORTED;
        signals.push_back(*signal);
    }
    for (const int signal : signals) {
        hand_over([signal, ranks](Host& host) { host.signal({signal, ranks}); });
    }
    return PMIX_OPERATION_SUCCEEDED;
}

}  // namespace batchai::launcher::pmix
