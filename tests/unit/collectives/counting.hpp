// SPDX-License-Identifier: Apache-2.0
//
// How often this thread has asked for memory with operator new, in a program that counts it
// (allocations.cpp). Only where it is switched on: around calls of the library, not inside a
// harness's own wire.
#pragma once

#include <cstddef>
#include <utility>

namespace batchai::coll {

inline thread_local bool is_counting = false;
inline thread_local std::size_t allocations = 0;

// Switches it on or off for its life.
class Counting {
  public:
    explicit Counting(bool on) : before_(std::exchange(is_counting, on)) {}
    Counting(const Counting&) = delete;
    Counting& operator=(const Counting&) = delete;
    ~Counting() { is_counting = before_; }

  private:
    bool before_;
};

}  // namespace batchai::coll
