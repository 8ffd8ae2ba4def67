// SPDX-License-Identifier: Apache-2.0
//
// Directory: the values that ranks have published by name (PMIx_Publish, MPI_Publish_name). The
// root keeps it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/common/message_pmix.hpp"

namespace batchai::launcher {

class Directory {
  public:
    // False, and nothing is stored, when one of the names is taken.
    bool publish(const std::vector<Item>& items);
    // Those of the names that are there.
    std::vector<Item> lookup(const std::vector<std::string>& keys) const;
    // The owner's; no names: all of them.
    void unpublish(std::uint32_t owner, const std::vector<std::string>& keys);

  private:
    std::map<std::string, Item> items_;
};

}  // namespace batchai::launcher
