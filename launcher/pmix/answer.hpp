// SPDX-License-Identifier: Apache-2.0
//
// Answers for which the library waits. Each is completed exactly once, on any thread. The library
// gets a copy of the data, and frees the copy later. The answer of a lookup is in publish.hpp.
#pragma once

#include <pmix_server.h>

#include <string>

#include "launcher/pmix/info.hpp"

namespace batchai::launcher::pmix {

struct ModexAnswer {
    pmix_modex_cbfunc_t function = nullptr;
    void* data = nullptr;
};
struct OpAnswer {
    pmix_op_cbfunc_t function = nullptr;
    void* data = nullptr;
};
struct InfoAnswer {
    pmix_info_cbfunc_t function = nullptr;
    void* data = nullptr;
};

void complete(const ModexAnswer& answer, pmix_status_t status, std::string data);
void complete(const OpAnswer& answer, pmix_status_t status);
void complete(const InfoAnswer& answer, pmix_status_t status, const InfoList& info);

}  // namespace batchai::launcher::pmix
