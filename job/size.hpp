// SPDX-License-Identifier: Apache-2.0
//
// Sizes of memory: "512M", "4G".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace batchai::job {

// Bytes, from digits with an optional K, M or G (powers of 1024). nullopt: other text, zero, or
// more than 2^53.
std::optional<std::uint64_t> parse_size(std::string_view text);

// Like docker's --shm-size: units in either case, with an optional "b" after them ("16gb").
std::optional<std::uint64_t> parse_docker_size(std::string_view text);

}  // namespace batchai::job
