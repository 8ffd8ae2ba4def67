// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmix/publish.hpp"

#include "launcher/pmix/pack.hpp"
#include "launcher/pmix/upcalls.hpp"

namespace batchai::launcher::pmix {
namespace {

std::string pack(const pmix_value_t& value) {
    Buffer buffer;
    return buffer.pack(&value, 1, PMIX_VALUE) ? buffer.bytes() : std::string();
}

// Attributes that say how to publish, and are not items to publish.
bool is_directive(const pmix_info_t& info) {
    for (const char* key : {PMIX_RANGE, PMIX_PERSISTENCE, PMIX_TIMEOUT, PMIX_USERID, PMIX_GRPID,
                            PMIX_WAIT, PMIX_REQUESTOR_IS_CLIENT, PMIX_REQUESTOR_IS_TOOL}) {
        if (PMIX_CHECK_KEY(&info, key)) return true;
    }
    return false;
}

std::vector<std::string> list(char** keys) {
    std::vector<std::string> names;
    for (; keys != nullptr && *keys != nullptr; ++keys) names.emplace_back(*keys);
    return names;
}

}  // namespace

pmix_status_t on_publish(const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo,
                         pmix_op_cbfunc_t function, void* cbdata) {
    std::vector<Item> items;
    for (size_t i = 0; i < ninfo; ++i) {
        if (!is_directive(info[i])) items.push_back({proc->rank, info[i].key, pack(info[i].value)});
    }
    hand_over([items = std::move(items), answer = OpAnswer{function, cbdata}](Host& host) mutable {
        host.publish(std::move(items), answer);
    });
    return PMIX_SUCCESS;
}

pmix_status_t on_lookup(const pmix_proc_t*, char** keys, const pmix_info_t info[], size_t ninfo,
                        pmix_lookup_cbfunc_t function, void* cbdata) {
    bool wait = false;
    for (size_t i = 0; i < ninfo; ++i) wait = wait || PMIX_CHECK_KEY(&info[i], PMIX_WAIT);
    hand_over([names = list(keys), wait, answer = LookupAnswer{function, cbdata}](
                  Host& host) mutable { host.lookup(std::move(names), wait, answer); });
    return PMIX_SUCCESS;
}

pmix_status_t on_unpublish(const pmix_proc_t* proc, char** keys, const pmix_info_t[], size_t,
                           pmix_op_cbfunc_t function, void* cbdata) {
    hand_over([owner = proc->rank, names = list(keys), answer = OpAnswer{function, cbdata}](
                  Host& host) mutable { host.unpublish(owner, std::move(names), answer); });
    return PMIX_SUCCESS;
}

void complete(const LookupAnswer& answer, const std::string& nspace, pmix_status_t status,
              const std::vector<Item>& items) {
    const size_t count = items.size();
    pmix_pdata_t* data = nullptr;
    if (count > 0) PMIX_PDATA_CREATE(data, count);
    if (data == nullptr) {
        return answer.function(count == 0 ? status : PMIX_ERR_NOMEM, nullptr, 0, answer.data);
    }
    for (size_t i = 0; i < count; ++i) {
        PMIX_LOAD_PROCID(&data[i].proc, nspace.c_str(), items[i].owner);
        PMIX_LOAD_KEY(data[i].key, items[i].key.c_str());
        Buffer(items[i].value).unpack(&data[i].value, 1, PMIX_VALUE);
    }
    answer.function(status, data, count, answer.data);
    PMIX_PDATA_FREE(data, count);
}

}  // namespace batchai::launcher::pmix
