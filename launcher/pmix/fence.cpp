// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmix/fence.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "launcher/pmix/upcalls.hpp"

namespace batchai::launcher::pmix {
namespace {

// The library does not fail a fence because a rank died before it. Only this attribute says so.
pmix_status_t local_status(const pmix_info_t info[], size_t ninfo) {
    for (size_t i = 0; i < ninfo; ++i) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_LOCAL_COLLECTIVE_STATUS)) {
            return info[i].value.data.status;
        }
    }
    return PMIX_SUCCESS;
}

}  // namespace

std::optional<Fence> contribution(const pmix_proc_t procs[], size_t nprocs,
                                  const pmix_info_t info[], size_t ninfo, std::string purpose) {
    Fence fence;
    fence.id.purpose = std::move(purpose);
    for (size_t i = 0; i < nprocs; ++i) {
        if (std::strcmp(procs[i].nspace, procs[0].nspace) != 0) return std::nullopt;
        fence.id.procs.push_back(procs[i].rank);
    }
    std::sort(fence.id.procs.begin(), fence.id.procs.end());
    fence.status = local_status(info, ninfo);
    return fence;
}

// The library calls it once per fence, when all local participants have called PMIx_Fence.
pmix_status_t on_fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                       size_t ninfo, char* data, size_t ndata, pmix_modex_cbfunc_t function,
                       void* cbdata) {
    const std::unique_ptr<char, decltype(&std::free)> ours(data, std::free);
    auto fence = contribution(procs, nprocs, info, ninfo, {});
    if (!fence) return PMIX_ERR_NOT_SUPPORTED;
    if (data != nullptr) fence->data.assign(data, ndata);
    hand_over(
        [fence = std::move(*fence), answer = ModexAnswer{function, cbdata}](Host& host) mutable {
            host.fence(std::move(fence), [answer](int status, std::uint64_t, std::string all) {
                complete(answer, status, std::move(all));
            });
        });
    return PMIX_SUCCESS;
}

}  // namespace batchai::launcher::pmix
