// SPDX-License-Identifier: Apache-2.0
//
// value_of: of a Result that is there, for tests; else an exception that says why not.
#pragma once

#include <stdexcept>
#include <utility>

#include "sys/result.hpp"

namespace batchai::coll {

template <class T>
T value_of(sys::Result<T> result) {
    if (!result) throw std::runtime_error(result.error().message);
    return std::move(*result);
}
inline void value_of(const sys::Result<void>& result) {
    if (!result) throw std::runtime_error(result.error().message);
}

}  // namespace batchai::coll
