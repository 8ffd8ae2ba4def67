// SPDX-License-Identifier: Apache-2.0
//
// One collective operation of the driver: its inputs, its call, and the results that each rank has
// to get. Inputs are whole numbers, small enough that their sum is exact in any order, so results
// are compared bit by bit.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "library.hpp"

namespace batchai::bench {

class Operation {
  public:
    // name: allreduce, broadcast, allgather, reduce-scatter or all-to-all; else the rank ends.
    Operation(const std::string& name, Library& library);

    // This rank's inputs.
    void fill(float* send, std::size_t count) const;

    // count: numbers in the larger buffer of a rank. Except for allreduce and broadcast it is a
    // multiple of the number of ranks. A broadcast sends from `send` on rank 0.
    void run(float* send, float* receive, std::size_t count) const;
    bool is_right(const float* send, const float* receive, std::size_t count) const;

  private:
    enum class Kind { Allreduce, Broadcast, Allgather, ReduceScatter, AllToAll };

    static Kind kind_of(const std::string& name);

    Kind kind_;
    Library& library_;
    std::size_t rank_, ranks_;
    std::vector<std::vector<float>> inputs_;  // of each rank, two periods
    std::vector<float> sums_;                 // of all inputs, two periods
};

}  // namespace batchai::bench
