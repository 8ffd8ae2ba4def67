// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace batchai::launcher::gloo {

// A rank's HTTP request to Horovod's Gloo server (launcher/gloo/key_values.hpp).
struct Request {
    std::string method, scope, key, body;
    template <class A>
    void fields(A& a) {
        a(method, scope, key, body);
    }
};

}  // namespace batchai::launcher::gloo
