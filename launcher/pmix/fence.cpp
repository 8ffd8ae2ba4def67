// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmix/fence.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "launcher/pmix/upcalls.hpp"

namespace batchai::launcher::pmix {
namespace {

// A rank that died before the fence does not fail it in the library: only this attribute tells.
pmix_status_t local_status(const pmix_info_t info[], size_t ninfo) {
    for (size_t i = 0; i < ninfo; ++i) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_LOCAL_COLLECTIVE_STATUS)) {
            return info[i].value.data.status;
        }
    }
    return PMIX_SUCCESS;
}

}  // namespace

// Called once per fence, when all local participants have arrived.
pmix_status_t on_fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                       size_t ninfo, char* data, size_t ndata, pmix_modex_cbfunc_t function,
                       void* cbdata) {
    const std::unique_ptr<char, decltype(&std::free)> ours(data, std::free);
    Fence fence;
    for (size_t i = 0; i < nprocs; ++i) {
        if (std::strcmp(procs[i].nspace, procs[0].nspace) != 0) return PMIX_ERR_NOT_SUPPORTED;
        fence.id.procs.push_back(procs[i].rank);
    }
    std::sort(fence.id.procs.begin(), fence.id.procs.end());
    fence.status = local_status(info, ninfo);
    if (data != nullptr) fence.data.assign(data, ndata);
    hand_over([fence = std::move(fence), answer = ModexAnswer{function, cbdata}](
                  Host& host) mutable { host.fence(std::move(fence), answer); });
    return PMIX_SUCCESS;
}

void complete(const ModexAnswer& answer, pmix_status_t status, std::string data) {
    auto* kept = new std::string(std::move(data));
    answer.function(
        status, kept->data(), kept->size(), answer.data,
        [](void* bytes) { delete static_cast<std::string*>(bytes); }, kept);
}

}  // namespace batchai::launcher::pmix
