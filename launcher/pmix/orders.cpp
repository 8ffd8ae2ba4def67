// SPDX-License-Identifier: Apache-2.0
//
// What ranks have done: end the job, start processes (refused), signal ranks, send events, log
// text.
#include <csignal>
#include <cstring>
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
    hand_over([rank = static_cast<int>(proc->rank), status,
               text = std::string(message == nullptr ? "" : message),
               answer = OpAnswer{function, cbdata}](Host& host) mutable {
        host.aborted(rank, status, std::move(text));
        complete(answer, PMIX_SUCCESS);
    });
    return PMIX_SUCCESS;
}

// PMIx_Spawn and MPI_Comm_spawn. A program that expects the error can go on. Of several ranks that
// call MPI_Comm_spawn together, one arrives here. Open MPI does not tell the others of an error.
pmix_status_t on_spawn(const pmix_proc_t* proc, const pmix_info_t[], size_t, const pmix_app_t[],
                       size_t, pmix_spawn_cbfunc_t, void*) {
    hand_over([rank = static_cast<int>(proc->rank)](Host& host) { host.spawn_refused(rank); });
    return PMIX_ERR_NOT_SUPPORTED;
}

// PMIx_Job_control: passes signals to ranks of the job. The library itself handles files to remove
// after a rank. Other requests are refused.
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

// The library has already notified this node's ranks.
pmix_status_t on_notify(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range,
                        pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t, void*) {
    Buffer buffer;
    if (!buffer.pack(&ninfo, 1, PMIX_SIZE) ||
        (ninfo > 0 && !buffer.pack(info, static_cast<std::int32_t>(ninfo), PMIX_INFO))) {
        return PMIX_ERR_PACK_FAILURE;
    }
    Notification event{code, source->rank, range, buffer.bytes()};
    hand_over([event = std::move(event)](Host& host) mutable { host.notify(std::move(event)); });
    return PMIX_OPERATION_SUCCEEDED;
}

void Server::deliver(const Notification& event) const {
    Buffer buffer(event.info);
    size_t count = 0;
    if (!buffer.unpack(&count, 1, PMIX_SIZE) || count > event.info.size()) return;
    pmix_info_t* info = nullptr;
    if (count > 0) PMIX_INFO_CREATE(info, count);
    pmix_proc_t source;
    PMIX_LOAD_PROCID(&source, nspace_.c_str(), event.source);
    const auto ignore = [](pmix_status_t, void*) {};  // without a callback the call would wait
    if (count == 0 || buffer.unpack(info, static_cast<std::int32_t>(count), PMIX_INFO)) {
        PMIx_Notify_event(event.code, &source, event.range, info, count, ignore, nullptr);
    }
    if (count > 0) PMIX_INFO_FREE(info, count);  // the library has made a copy
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
    hand_over([rank = static_cast<int>(client->rank), texts = std::move(texts), status,
               answer = OpAnswer{function, cbdata}](Host& host) mutable {
        for (auto& [stream, text] : texts) host.log(rank, stream, std::move(text));
        complete(answer, status);
    });
}

}  // namespace batchai::launcher::pmix
