// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmix/event.hpp"

#include "launcher/pmix/pack.hpp"
#include "launcher/pmix/upcalls.hpp"

namespace batchai::launcher::pmix {

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

void deliver(const std::string& nspace, const Notification& event) {
    Buffer buffer(event.info);
    size_t count = 0;
    if (!buffer.unpack(&count, 1, PMIX_SIZE) || count > event.info.size()) return;
    pmix_info_t* info = nullptr;
    if (count > 0) PMIX_INFO_CREATE(info, count);
    pmix_proc_t source;
    PMIX_LOAD_PROCID(&source, nspace.c_str(), event.source);
    const auto ignore = [](pmix_status_t, void*) {};  // without a callback the call would wait
    if (count == 0 || buffer.unpack(info, static_cast<std::int32_t>(count), PMIX_INFO)) {
        PMIx_Notify_event(event.code, &source, event.range, info, count, ignore, nullptr);
    }
    if (count > 0) PMIX_INFO_FREE(info, count);  // the library has made a copy
}

}  // namespace batchai::launcher::pmix
