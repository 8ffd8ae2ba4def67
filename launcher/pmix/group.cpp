// SPDX-License-Identifier: Apache-2.0
//
// PMIx_Group_construct and _destruct, PMIx_Connect and _Disconnect. They are fences over the
// members, and their purpose distinguishes them from plain fences. They also carry the members'
// endpoints, packed by the library. The clients themselves make groups whose members are invited
// one by one, with events.
#include <optional>

#include "launcher/pmix/fence.hpp"
#include "launcher/pmix/upcalls.hpp"

namespace batchai::launcher::pmix {
namespace {

struct Directives {
    bool wants_id = false;  // PMIx asks for a number for the group
    std::string endpoints;
};

Directives read(const pmix_info_t info[], size_t ninfo) {
    Directives found;
    for (size_t i = 0; i < ninfo; ++i) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_GROUP_ASSIGN_CONTEXT_ID)) {
            found.wants_id = PMIX_INFO_TRUE(&info[i]);
        } else if (PMIX_CHECK_KEY(&info[i], PMIX_GROUP_ENDPT_DATA)) {
            const pmix_byte_object_t& object = info[i].value.data.bo;
            found.endpoints.assign(object.bytes, object.size);
        }
    }
    return found;
}

// PMIx 5 needs the members in the answer, because it does not keep them.
void gather(Host& host, Fence fence, bool wants_id, InfoAnswer answer) {
    std::vector<pmix_proc_t> members;
    for (const std::uint32_t rank : fence.id.procs) {
        PMIX_LOAD_PROCID(&members.emplace_back(), target().nspace.c_str(), rank);
    }
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

// Whether all members are on this node, so that the library knows their data.
bool is_local(const pmix_info_t info[], size_t ninfo) {
    for (size_t i = 0; i < ninfo; ++i) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_GROUP_LOCAL_ONLY)) return PMIX_INFO_TRUE(&info[i]);
    }
    return false;
}

}  // namespace

pmix_status_t on_group(pmix_group_operation_t operation, char* group, const pmix_proc_t procs[],
                       size_t nprocs, const pmix_info_t info[], size_t ninfo,
                       pmix_info_cbfunc_t function, void* cbdata) {
    const bool making = operation == PMIX_GROUP_CONSTRUCT;
    // After any other answer, PMIx 5.0 asks a second time and uses the group after the first
    // answer.
    if (!making && is_local(info, ninfo)) return PMIX_OPERATION_SUCCEEDED;
    auto fence = contribution(procs, nprocs, info, ninfo,
                              (making ? kConstruct : kDestruct) + std::string(group));
    if (!fence) return PMIX_ERR_NOT_SUPPORTED;
    Directives directives = making ? read(info, ninfo) : Directives();
    fence->data = std::move(directives.endpoints);
    hand_over([fence = std::move(*fence), wants_id = directives.wants_id,
               answer = InfoAnswer{function, cbdata}](Host& host) mutable {
        gather(host, std::move(fence), wants_id, answer);
    });
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
