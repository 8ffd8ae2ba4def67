// SPDX-License-Identifier: Apache-2.0
//
// What a user's last preparation of a node was made from, so that the same one need not run again:
// one file per node in the user's ~/.cache/batchai/preparation, with digests (inputs.hpp) and a
// time. While a preparation runs, and after one that failed, nothing of the node is known; where
// two different ones overlap, too. All is done as the user, who fools nobody else.
#pragma once

#include <optional>
#include <string>

#include "spank/prep/inputs.hpp"

namespace batchai::spank {

class Memory {
  public:
    // Where the user has no place of his own for the file, nothing is ever known.
    explicit Memory(const std::string& node);

    // When the same preparation has succeeded, if it was the last one and not before the time.
    std::optional<double> succeeded_since(double earliest, const Inputs&) const;

    void note_start(const Inputs&) const;
    void note_success(const Inputs& before, const Inputs& after, double time) const;
    void forget() const;

    // Removing it makes the node be prepared again.
    const std::string& file() const { return file_; }

  private:
    std::string file_;
};

}  // namespace batchai::spank
