// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmix/dmodex.hpp"

#include <memory>

#include "launcher/pmix/upcalls.hpp"

namespace batchai::launcher::pmix {
namespace {

struct Request {
    Box& box;
    std::function<void(pmix_status_t, std::string)> answer;
};

}  // namespace

pmix_status_t on_modex(const pmix_proc_t* proc, const pmix_info_t[], size_t,
                       pmix_modex_cbfunc_t function, void* cbdata) {
    hand_over([rank = proc->rank, answer = ModexAnswer{function, cbdata}](Host& host) {
        host.modex(rank, answer);
    });
    return PMIX_SUCCESS;
}

void request_modex(Box& box, const std::string& nspace, std::uint32_t rank,
                   std::function<void(pmix_status_t, std::string)> answer) {
    auto* request = new Request{box, std::move(answer)};
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, nspace.c_str(), rank);
    const auto done = [](pmix_status_t status, char* data, size_t size, void* cbdata) {
        const std::unique_ptr<Request> owned(static_cast<Request*>(cbdata));
        std::string bytes = data == nullptr ? std::string() : std::string(data, size);
        owned->box.post([answer = std::move(owned->answer), status,
                         bytes = std::move(bytes)]() mutable { answer(status, std::move(bytes)); });
    };
    const pmix_status_t status = PMIx_server_dmodex_request(&proc, done, request);
    if (status != PMIX_SUCCESS) done(status, nullptr, 0, request);
}

}  // namespace batchai::launcher::pmix
