// SPDX-License-Identifier: Apache-2.0
//
// Setting: one item of a list of settings as the user writes them, "process=2,node=5".
#pragma once

#include <algorithm>
#include <string_view>

namespace batchai::coll {

struct Setting {
    std::string_view item, name, value;  // without '=', name is empty
};

// Removes the first item from the list and returns it. The list must not be empty.
inline Setting take_setting(std::string_view& list) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) return {item, {}, {}};
    return {item, item.substr(0, equals), item.substr(equals + 1)};
}

}  // namespace batchai::coll
