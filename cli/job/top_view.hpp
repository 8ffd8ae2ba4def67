// SPDX-License-Identifier: Apache-2.0
//
// What `batchai top` shows of a job: its document, and lines of text from documents. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/history/execution.hpp"
#include "cli/history/history.hpp"
#include "job/record.hpp"

namespace batchai::cli {

inline constexpr const char* kOtherRelease = "this job's launcher is of another release";

// The document of a job (docs/architecture.md, "The view of a job"). view: what its launcher said
// last; null: nothing. trouble: why its launcher, or Slurm, cannot be asked; empty: no trouble.
nlohmann::json top_document(const JobRow&, const Execution&, const std::vector<job::Event>&,
                            const nlohmann::json& view, const std::string& trouble, double now);

// The documents as lines for a person, which contain no characters that control a terminal.
// columns: of the terminal; 0: no limit. lines: as many fit on it; 0: no limit.
std::vector<std::string> top_lines(const std::vector<nlohmann::json>& documents,
                                   std::size_t columns, std::size_t lines);

}  // namespace batchai::cli
