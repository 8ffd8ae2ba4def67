// SPDX-License-Identifier: Apache-2.0
//
// What ranks have done: end the job, signal ranks, send events, log text.
#include <csignal>
#include <optional>
#include <utility>

#include "launcher/pmix/server.hpp"
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

// The channels that the library handles.
bool is_local_syslog(const pmix_info_t& item) {
    return PMIX_CHECK_KEY(&item, PMIX_LOG_SYSLOG) || PMIX_CHECK_KEY(&item, PMIX_LOG_LOCAL_SYSLOG);
}

}  // namespace

// PMIx_Abort and MPI_Abort. Whatever procs contains, the whole job ends, because its ranks depend
// on each other.
pmix_status_t on_abort(const pmix_proc_t* proc, void*, int status, const char message[],
                       pmix_proc_t[], size_t, pmix_op_cbfunc_t function, void* cbdata) {
    const auto rank = names().number(*proc);
    if (!rank) return PMIX_ERR_NOT_FOUND;
    hand_over([rank = static_cast<int>(*rank), status,
               text = std::string(message == nullptr ? "" : message),
               answer = OpAnswer{function, cbdata}](Host& host) mutable {
        host.aborted(rank, status, std::move(text));
        complete(answer, PMIX_SUCCESS);
    });
    return PMIX_SUCCESS;
}

// PMIx_Job_control: passes signals to ranks of the launch. The library itself handles files to
// remove after a rank. Other requests are refused.
pmix_status_t on_control(const pmix_proc_t* requestor, const pmix_proc_t targets[], size_t ntargets,
                         const pmix_info_t directives[], size_t ndirs, pmix_info_cbfunc_t, void*) {
    pmix_proc_t whole_job = *requestor;
    whole_job.rank = PMIX_RANK_WILDCARD;
    const auto ranks =
        ntargets == 0 ? names().numbers(&whole_job, 1) : names().numbers(targets, ntargets);
    if (!ranks) return PMIX_ERR_NO_PERMISSIONS;
    std::vector<int> signals;
    for (size_t i = 0; i < ndirs; ++i) {
        const auto signal = signal_of(directives[i]);
        if (!signal || *signal < 1 || *signal > SIGRTMAX) return PMIX_ERR_NOT_SUPPORTED;
        signals.push_back(*signal);
    }
    for (const int signal : signals) {
        hand_over([signal, ranks = *ranks](Host& host) { host.signal({signal, ranks}); });
    }
    return PMIX_OPERATION_SUCCEEDED;
}

// The library has already notified this node's ranks.
pmix_status_t on_notify(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range,
                        pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t, void*) {
    Buffer buffer;
    if (!buffer.pack(&ninfo, 1, PMIX_SIZE) ||
        (ninfo > 0 && !buffer.pack(info, static_cast<std::int32_t>(ninfo), PMIX_INFO))) {
        return PMIX_ERR_PACK_FAILURE;
    }
    const auto rank = names().number(*source);
    if (!rank) return PMIX_OPERATION_SUCCEEDED;
    Notification event{code, *rank, range, buffer.bytes()};
    hand_over([event = std::move(event)](Host& host) mutable { host.notify(std::move(event)); });
    return PMIX_OPERATION_SUCCEEDED;
}

void Server::deliver(const Notification& event) const {
    Buffer buffer(event.info);
    size_t count = 0;
    if (!buffer.unpack(&count, 1, PMIX_SIZE) || count > event.info.size()) return;
    pmix_info_t* info = nullptr;
    if (count > 0) PMIX_INFO_CREATE(info, count);
    const pmix_proc_t source = names().proc(event.source);
    const auto ignore = [](pmix_status_t, void*) {};  // without a callback the call would wait
    if (count == 0 || buffer.unpack(info, static_cast<std::int32_t>(count), PMIX_INFO)) {
        PMIx_Notify_event(event.code, &source, event.range, info, count, ignore, nullptr);
    }
    if (count > 0) PMIX_INFO_FREE(info, count);  // the library has made a copy
}

void Server::deliver_end(const Job& job) const {
    pmix_proc_t ended;
    PMIX_LOAD_PROCID(&ended, job.nspace.c_str(), PMIX_RANK_WILDCARD);
    InfoList list;
    list.add(PMIX_EVENT_NON_DEFAULT, true);  // Open MPI's handler of all events would end the rank
    list.add_proc(PMIX_EVENT_AFFECTED_PROC, ended);
    list.add_procs(PMIX_EVENT_CUSTOM_RANGE, {names().proc(static_cast<std::uint32_t>(job.parent))});
    InfoArray info = list.array();
    const auto ignore = [](pmix_status_t, void*) {};  // without a callback the call would wait
    PMIx_Notify_event(PMIX_EVENT_JOB_END, &ended, PMIX_RANGE_CUSTOM, info.data(), info.size(),
                      ignore, nullptr);
}

// PMIx_Log: text for standard output and standard error is treated like the rank's own output. Of
// the other channels, the library handles the local syslog. The answer must come from another
// thread, because the library holds a lock here and takes it again in the answer.
void on_log(const pmix_proc_t* client, const pmix_info_t data[], size_t ndata, const pmix_info_t[],
            size_t, pmix_op_cbfunc_t function, void* cbdata) {
    std::vector<std::pair<Stream, std::string>> texts;
    pmix_status_t status = PMIX_SUCCESS;
    for (size_t i = 0; i < ndata; ++i) {
        const bool is_text =
            data[i].value.type == PMIX_STRING && data[i].value.data.string != nullptr;
        if (is_text && PMIX_CHECK_KEY(&data[i], PMIX_LOG_STDOUT)) {
            texts.emplace_back(Stream::out, data[i].value.data.string);
        } else if (is_text && PMIX_CHECK_KEY(&data[i], PMIX_LOG_STDERR)) {
            texts.emplace_back(Stream::err, data[i].value.data.string);
        } else if (!is_local_syslog(data[i])) {
            status = PMIX_ERR_NOT_SUPPORTED;
        }
    }
    hand_over([rank = names().number(*client), texts = std::move(texts), status,
               answer = OpAnswer{function, cbdata}](Host& host) mutable {
        for (auto& [stream, text] : texts)
            if (rank) host.log(static_cast<int>(*rank), stream, std::move(text));
        complete(answer, status);
    });
}

}  // namespace batchai::launcher::pmix
