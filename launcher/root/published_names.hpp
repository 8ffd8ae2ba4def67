// SPDX-License-Identifier: Apache-2.0
//
// PublishedNames: values that ranks have published by name (PMIx_Publish, MPI_Publish_name). The
// root has it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/common/message_pmix.hpp"

namespace batchai::launcher {

class PublishedNames {
  public:
    // False: one of the names is taken, and nothing is stored.
    bool publish(const std::vector<Item>& items);
    // Returns the items that exist.
    std::vector<Item> lookup(const std::vector<std::string>& keys) const;
    // Removes items of the owner; without keys all of them.
    void unpublish(std::uint32_t owner, const std::vector<std::string>& keys);

  private:
    std::map<std::string, Item> items_;
};

}  // namespace batchai::launcher
