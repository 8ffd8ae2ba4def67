// SPDX-License-Identifier: Apache-2.0
//
// What the machine itself gives, without any library: each function prints its figures, "NAME
// VALUE" or "NAME BYTES VALUE" a line, for bounds.py.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace batchai::bench {

// "copy BYTES MICROSECONDS": so many ranks at once copy so many bytes each from one buffer of
// theirs to another, by the fastest of several ways. Every allreduce has to: all ranks read what
// they give and write what they get.
void measure_copies(int ranks, double milliseconds, const std::vector<std::size_t>& sizes);

// "flag MICROSECONDS": from a store of one core until another one sees it.
void measure_flag();

// The ranks of a launcher, one on each node.
struct Ranks {
    int rank;
    int size;
    std::string store;  // a directory that all see, empty at first
};

// "tcp_one GBYTES": goodput of a plain TCP stream from the first node to the second, alone; then
// "tcp_all GBYTES", from each rank: what it gets while every node streams to the next one, as in an
// allreduce. GB/s of payload.
void measure_streams(const Ranks& ranks, double seconds);

// "exchange BYTES MICROSECONDS": every node sends so many bytes to the next one, over plain TCP,
// and gets as many: with two nodes what each of them has to in an allreduce.
void measure_exchanges(const Ranks& ranks, double seconds, const std::vector<std::size_t>& sizes);

// "ucx MICROSECONDS": one way of 8 bytes between the first two nodes, by UCX's tagged messages;
// best and "ucx_median".
void measure_ucx(const Ranks& ranks);

// Through files in the store: what a rank says under a name, and what another one has said, once it
// has.
void tell(const Ranks& ranks, const std::string& name, const std::string& value);
std::string ask(const Ranks& ranks, const std::string& name, int rank);

}  // namespace batchai::bench
