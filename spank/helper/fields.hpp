// SPDX-License-Identifier: Apache-2.0
//
// Fields: the zero-terminated "name=value" lists of spank/protocol.hpp. A name may occur several
// times. A value can hold any character except a zero byte, so values need no quoting.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sys/result.hpp"

namespace batchai::spank {

class Fields {
  public:
    // Refuses a list whose last entry has no zero byte at its end, or that has an entry without
    // '='.
    static sys::Result<Fields> parse(std::string_view text);

    void add(std::string_view name, std::string_view value);
    void add(std::string_view name, long long number);

    // The first value of that name; empty if there is none.
    std::string get(std::string_view name) const;
    std::vector<std::string> all(std::string_view name) const;
    // A number between 0 and 2^32 - 1.
    sys::Result<unsigned> number(std::string_view name) const;

    std::string text() const;

  private:
    std::vector<std::string> entries_;
};

// "a,b" at its commas, without empty parts.
std::vector<std::string> split_nonempty(std::string_view list, char separator);

}  // namespace batchai::spank
