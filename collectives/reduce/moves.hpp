// SPDX-License-Identifier: Apache-2.0
//
// Moves: copies by `rep movsb`. A core that writes whole lines in this way does not fetch them
// first. Other stores do, and fetching a line that another core has read is slow. So another core
// gets data sooner if it was written by a move: 64 KiB in each direction at once, on two cores of
// an AMD EPYC (family 26), in 2.0 instead of 2.9 us if they share a cache, and in 4.3 instead of
// 11.3 us if they do not. Streaming stores take 6.1 and 4.6 us.
//
// Moves need no fence: the processor does not reorder their stores with later ones.
//
// Some AMD processors (family 25 at least) move several times more slowly if the two addresses are
// aligned differently. So the library measures what is fast.
#pragma once

#include <cstddef>

namespace batchai::coll {

enum class Moves {
    none,           // never fast, or left to the C library
    aligned_alike,  // fast if both addresses are at the same place in a cache line
    any,            // fast for all addresses
};

// When moves are fast here; takes some hundred microseconds at most. None on processors that are
// not AMD's: there the C library moves.
Moves measure_moves();

// moves: not none. to and from must not overlap. Fast from about 1 KiB on.
void move(void* to, const void* from, std::size_t bytes, Moves moves);

}  // namespace batchai::coll
