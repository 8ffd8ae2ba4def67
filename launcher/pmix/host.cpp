// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmix/host.hpp"

#include <utility>

namespace batchai::launcher::pmix {

void complete(const ModexAnswer& answer, pmix_status_t status, std::string data) {
    auto* kept = new std::string(std::move(data));
    answer.function(
        status, kept->data(), kept->size(), answer.data,
        [](void* bytes) { delete static_cast<std::string*>(bytes); }, kept);
}

void complete(const OpAnswer& answer, pmix_status_t status) {
    if (answer.function != nullptr) answer.function(status, answer.data);
}

void complete(const InfoAnswer& answer, pmix_status_t status, const InfoList& info) {
    auto* kept = new InfoArray(info.array());
    answer.function(
        status, kept->data(), kept->size(), answer.data,
        [](void* array) { delete static_cast<InfoArray*>(array); }, kept);
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
