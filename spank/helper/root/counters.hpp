// SPDX-License-Identifier: Apache-2.0
//
// Counters of root's work for jobs on this node since its boot, for Prometheus. They go to a text
// file that the textfile collector of node_exporter reads. Only with counters=DIRECTORY in the
// plugin's line.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sys/result.hpp"

namespace batchai::spank {

enum class Counter : std::uint8_t {
    set_up,         // nodes that were set up for a job
    set_up_failed,  // nodes whose set-up failed
    mounts,
    mounts_failed,
    prepared,  // preparations, by result, counted at the job's end
    preparation_failed,
    preparation_interrupted,
    ended,  // ends of jobs
    end_unfinished,
    swept,  // leftovers of interrupted ends and of earlier jobs
    sweep_unfinished,
    count
};
using Counts = std::array<std::uint64_t, static_cast<std::size_t>(Counter::count)>;

class Counters {
  public:
    // An empty directory: nothing is counted.
    explicit Counters(std::string directory) : directory_(std::move(directory)) {}

    // Adds to the counters of this node, and replaces the file batchai.prom in the directory, which
    // only root may be able to change. Errors go to standard error, and no job fails for them. Call
    // as root, outside of jobs' namespaces.
    void add(const std::vector<std::pair<Counter, std::uint64_t>>& what) const;

  private:
    std::string directory_;
};

// In the text format of Prometheus.
std::string metrics_text(const Counts&);

// The text in which the node keeps the counters, and the reverse. A text that cannot be read counts
// as 0.
std::string kept_text(const Counts&);
Counts kept_counts(const std::string& text);

}  // namespace batchai::spank
