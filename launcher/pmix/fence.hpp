// SPDX-License-Identifier: Apache-2.0
//
// The data of the node's ranks for a fence, or for an operation that works like a fence
// (group.cpp).
#pragma once

#include <optional>
#include <string>

#include "launcher/pmix/host.hpp"

namespace batchai::launcher::pmix {

// Nothing if procs contains a process of another job.
std::optional<Fence> contribution(const pmix_proc_t procs[], size_t nprocs,
                                  const pmix_info_t info[], size_t ninfo, std::string purpose);

}  // namespace batchai::launcher::pmix
