// SPDX-License-Identifier: Apache-2.0
//
// Fault: makes a rank fail at a chosen point, to test how the other ranks react.
// BATCHAI_COLL_FAULT="rank=1,operation=5,chunk=2,do=kill" sets it:
//   operation   counts the operations of the job's communicator, from 1 (the default)
//   chunk       0 (the default): as the operation begins; k: once the k-th chunk is in shared
//               memory, or the k-th piece is copied straight (algorithm/straight.hpp)
//   do          kill, stop (SIGKILL, SIGSTOP), exit (without a message), abort, or delay:NUMBERms
// Without the variable, the check is one comparison of a pointer with null.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "sys/result.hpp"

namespace batchai::coll {

class Node;

inline constexpr char kFaultVariable[] = "BATCHAI_COLL_FAULT";

struct Fault {
    enum class Deed { kill, stop, exit, abort, delay };

    int rank = -1;  // -1: no fault
    std::uint64_t operation = 1, chunk = 0;
    Deed deed = Deed::kill;
    std::chrono::milliseconds delay{0};

    bool operator==(const Fault&) const = default;
};

sys::Result<Fault> parse_fault(std::string_view text);
sys::Result<Fault> fault_from_environment();

// The point of the fault, on the rank that fails.
class FaultPoint {
  public:
    FaultPoint(const Fault& fault, Node& node) : fault_(fault), node_(node) {}
    void reach(std::uint64_t operation, std::uint64_t chunk) {
        if (operation == fault_.operation && chunk == fault_.chunk) act();
    }

  private:
    void act();

    Fault fault_;
    Node& node_;
};

}  // namespace batchai::coll
