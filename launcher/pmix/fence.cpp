// SPDX-License-Identifier: Apache-2.0
//
// PMIx_Fence, PMIx_Group_construct and _destruct, PMIx_Connect and _Disconnect. The last four are
// fences over the members, and their purpose distinguishes them from plain fences. They also carry
// the members' endpoints, packed by the library. The clients themselves make groups whose members
// are invited one by one, with events.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "launcher/pmix/upcalls.hpp"
#include "launcher/pmix/workarounds.hpp"

namespace batchai::launcher::pmix {
namespace {

// nullptr: there is no such attribute.
const pmix_info_t* find(const pmix_info_t info[], size_t ninfo, const char* key) {
    const auto end = info + ninfo;
    const auto found =
        std::find_if(info, end, [key](const auto& one) { return PMIX_CHECK_KEY(&one, key); });
    return found == end ? nullptr : found;
}

bool is_true(const pmix_info_t info[], size_t ninfo, const char* key) {
    const pmix_info_t* found = find(info, ninfo, key);
    return found != nullptr && PMIX_INFO_TRUE(found);
}

// Nothing if procs contains a process of no known job.
std::optional<Fence> contribution(const pmix_proc_t procs[], size_t nprocs,
                                  const pmix_info_t info[], size_t ninfo, std::string purpose) {
    auto members = names().numbers(procs, nprocs);
    if (!members) return std::nullopt;
    Fence fence;
    fence.id = {std::move(purpose), *std::move(members)};
    // The library does not fail a fence because a rank died before it. Only this attribute says so.
    const pmix_info_t* status = find(info, ninfo, PMIX_LOCAL_COLLECTIVE_STATUS);
    fence.status = status == nullptr ? PMIX_SUCCESS : status->value.data.status;
    return fence;
}

// PMIx 5 needs the members in the answer, because it does not keep them.
void gather(Host& host, Fence fence, bool wants_id, InfoAnswer answer) {
    std::vector<pmix_proc_t> members;
    for (const std::uint32_t rank : fence.id.procs.ranks()) members.push_back(names().proc(rank));
    host.fence(std::move(fence),
               [wants_id, answer, members = std::move(members)](int status, std::uint64_t serial,
                                                                const std::string& endpoints) {
                   InfoList info;
                   info.add_procs(PMIX_GROUP_MEMBERSHIP, members);
                   if (wants_id) info.add_size(PMIX_GROUP_CONTEXT_ID, serial);
                   if (!endpoints.empty()) info.add_bytes(PMIX_GROUP_ENDPT_DATA, endpoints);
                   complete(answer, status, info);
               });
}

pmix_status_t meet(const char* purpose, const pmix_proc_t procs[], size_t nprocs,
                   const pmix_info_t info[], size_t ninfo, OpAnswer answer) {
    auto fence = contribution(procs, nprocs, info, ninfo, purpose);
    if (!fence) return PMIX_ERR_NOT_SUPPORTED;
    hand_over([fence = std::move(*fence), answer](Host& host) mutable {
        host.fence(std::move(fence), [answer](int status, std::uint64_t, const std::string&) {
            complete(answer, status);
        });
    });
    return PMIX_SUCCESS;
}

}  // namespace

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

pmix_status_t on_group(pmix_group_operation_t operation, char* group, const pmix_proc_t procs[],
                       size_t nprocs, const pmix_info_t info[], size_t ninfo,
                       pmix_info_cbfunc_t function, void* cbdata) {
    if (!groups_are_guarded()) return PMIX_ERR_NOT_SUPPORTED;
    const bool making = operation == PMIX_GROUP_CONSTRUCT;
    // After any other answer, PMIx 5.0 asks a second time and uses the group after the first
    // answer.
    if (!making && is_true(info, ninfo, PMIX_GROUP_LOCAL_ONLY)) return PMIX_OPERATION_SUCCEEDED;
    auto fence = contribution(procs, nprocs, info, ninfo,
                              (making ? kConstruct : kDestruct) + std::string(group));
    if (!fence) return PMIX_ERR_NOT_SUPPORTED;
    const bool wants_id = making && is_true(info, ninfo, PMIX_GROUP_ASSIGN_CONTEXT_ID);
    const pmix_info_t* endpoints = making ? find(info, ninfo, PMIX_GROUP_ENDPT_DATA) : nullptr;
    if (endpoints != nullptr) {
        const pmix_byte_object_t& object = endpoints->value.data.bo;
        fence->data.assign(object.bytes, object.size);
    }
    hand_over([fence = std::move(*fence), wants_id, answer = InfoAnswer{function, cbdata}](
                  Host& host) mutable { gather(host, std::move(fence), wants_id, answer); });
    return PMIX_SUCCESS;
}

pmix_status_t on_connect(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                         size_t ninfo, pmix_op_cbfunc_t function, void* cbdata) {
    return meet("connect", procs, nprocs, info, ninfo, {function, cbdata});
}

pmix_status_t on_disconnect(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                            size_t ninfo, pmix_op_cbfunc_t function, void* cbdata) {
    return meet("disconnect", procs, nprocs, info, ninfo, {function, cbdata});
}

}  // namespace batchai::launcher::pmix
