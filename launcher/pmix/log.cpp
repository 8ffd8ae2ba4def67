// SPDX-License-Identifier: Apache-2.0
//
// PMIx_Log: text for standard output and standard error is treated like the rank's own output. Of
// the other channels, the library handles the local syslog.
#include <utility>

#include "launcher/pmix/upcalls.hpp"

namespace batchai::launcher::pmix {

namespace {

// The channels that the library handles.
bool is_local_syslog(const pmix_info_t& item) {
    return PMIX_CHECK_KEY(&item, PMIX_LOG_SYSLOG) || PMIX_CHECK_KEY(&item, PMIX_LOG_LOCAL_SYSLOG);
}

}  // namespace

// The answer must come from another thread, because the library holds a lock here and takes it
// again in the answer.
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
    hand_over([rank = client->rank, texts = std::move(texts), status,
               answer = OpAnswer{function, cbdata}](Host& host) mutable {
        for (auto& [stream, text] : texts) host.log(rank, stream, std::move(text));
        complete(answer, status);
    });
}

}  // namespace batchai::launcher::pmix
