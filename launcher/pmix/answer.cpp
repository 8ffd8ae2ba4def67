// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmix/answer.hpp"

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

}  // namespace batchai::launcher::pmix
