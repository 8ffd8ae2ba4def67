// SPDX-License-Identifier: Apache-2.0
//
// The parts of the bench: the rows that each fills, and how. measure_...() forks processes of its
// own, and throws what has gone wrong there; its rows are then not measured.
#pragma once

#include "../harness.hpp"
#include "figures.hpp"

namespace batchai::coll::gpu {

constexpr std::size_t kMiB = std::size_t{1} << 20;
// From small to large.
inline std::vector<std::size_t> sizes() {
    if (machine().brief) return {1 * kMiB, 64 * kMiB};
    return {1 * kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB, 256 * kMiB};
}
// Of rates.
inline std::size_t large() {
    return (machine().brief ? 16 : 256) * kMiB;
}

// What the machine gives: copies between host and GPU and on the GPU.
std::vector<Row> machine_rows();
void measure_machine(Figures& figures);
// The slower one of both directions at once: bytes a second.
double staging_rate(const Figures& figures);

// Reductions by the GPU, beside copies there.
std::vector<Row> reduction_rows();
void measure_reductions(Figures& figures);

// Many copies in one order, beside such a copy.
std::vector<Row> copy_rows();
void measure_copies(Figures& figures);

// The way out of the GPU and back without anybody at the other end.
std::vector<Row> staging_rows();
void measure_staging(Figures& figures);

// Whole allreduces of several ranks on one GPU, beside the serial scheme and a program's own work.
std::vector<Row> allreduce_rows();
void measure_allreduces(Figures& figures);

}  // namespace batchai::coll::gpu
