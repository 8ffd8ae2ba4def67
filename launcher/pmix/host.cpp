// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmix/host.hpp"

#include <utility>

#include "launcher/pmix/upcalls.hpp"

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

void complete(const LookupAnswer& answer, pmix_status_t status, const std::vector<Item>& items) {
    const size_t count = items.size();
    pmix_pdata_t* data = nullptr;
    if (count > 0) PMIX_PDATA_CREATE(data, count);
    if (data == nullptr) {
        return answer.function(count == 0 ? status : PMIX_ERR_NOMEM, nullptr, 0, answer.data);
    }
    for (size_t i = 0; i < count; ++i) {
        data[i].proc = names().proc(items[i].owner);
        PMIX_LOAD_KEY(data[i].key, items[i].key.c_str());
        Buffer(items[i].value).unpack(&data[i].value, 1, PMIX_VALUE);
    }
    answer.function(status, data, count, answer.data);
    PMIX_PDATA_FREE(data, count);
}

void complete(const SpawnAnswer& answer, pmix_status_t status, const std::string& nspace) {
    std::string name = nspace;  // the library wants characters that it may change
    answer.function(status, name.data(), answer.data);
}

}  // namespace batchai::launcher::pmix
