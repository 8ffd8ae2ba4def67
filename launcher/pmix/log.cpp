// SPDX-License-Identifier: Apache-2.0
//
// PMIx_Log: text for standard output and error goes the way of the rank's own. Of the other
// channels, the library serves the local syslog.
#include <utility>

#include "launcher/pmix/upcalls.hpp"

namespace batchai::launcher::pmix {

namespace {

// Those that the library serves, beside us.
bool is_local_syslog(const pmix_info_t& item) {
    return PMIX_CHECK_KEY(&item, PMIX_LOG_SYSLOG) || PMIX_CHECK_KEY(&item, PMIX_LOG_LOCAL_SYSLOG);
}

}  // namespace

// The answer must come from another thread: the library holds a lock here that it takes again then.
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
