// SPDX-License-Identifier: Apache-2.0
//
// What a library looks like to the driver that measures it. Each plug-in (batchai.cpp, mpi.cpp,
// gloo.cpp) is one implementation and defines open_library(); driver.cpp is linked with one of them
// and knows no other.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace batchai::bench {

// Says what the library has refused and ends this rank; the launcher ends the others.
[[noreturn]] void fail(const std::string& what);

class Library {
  public:
    Library() = default;
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    virtual ~Library() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;
    // Collective: memory for a buffer, of a kind that the library is faster with, until its end;
    // null: there is none.
    virtual void* allocate(std::size_t) { return nullptr; }

    // Collective. send and receive do not overlap. A reduction is a sum.
    virtual void allreduce(const float* send, float* receive, std::size_t count) = 0;
    virtual void broadcast(float* buffer, std::size_t count) = 0;  // from rank 0
    // Of `block` numbers for each rank, or from each rank.
    virtual void allgather(const float* send, float* receive, std::size_t block) = 0;
    virtual void reduce_scatter(const float*, float*, std::size_t) {
        fail("this library has no reduce-scatter");
    }
    virtual void all_to_all(const float* send, float* receive, std::size_t block) = 0;
    virtual void barrier() = 0;
};

// Joins the ranks that the launcher has started.
std::unique_ptr<Library> open_library();

}  // namespace batchai::bench
