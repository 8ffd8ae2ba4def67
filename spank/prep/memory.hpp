// SPDX-License-Identifier: Apache-2.0
//
// Records the inputs of a user's last preparation of a node, so that an equal one need not run
// again. There is one file per node in the user's ~/.cache/batchai/preparation, with digests
// (inputs.hpp) and a time. While a preparation runs, and after one that failed, the file records no
// success; the same holds if two different preparations overlap. All of it runs as the user, so a
// forged file harms only that user.
#pragma once

#include <optional>
#include <string>

#include "spank/prep/inputs.hpp"

namespace batchai::spank {

class Memory {
  public:
    // If the user has no private directory for the file, nothing is recorded.
    explicit Memory(const std::string& node);

    // The time at which an equal preparation succeeded, if it was the last one and not before the
    // given time.
    std::optional<double> succeeded_since(double earliest, const Inputs&) const;

    void note_start(const Inputs&) const;
    void note_success(const Inputs& before, const Inputs& after, double time) const;
    void forget() const;

    // Remove this file to have the node prepared again.
    const std::string& file() const { return file_; }

  private:
    std::string file_;
};

}  // namespace batchai::spank
