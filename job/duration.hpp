// SPDX-License-Identifier: Apache-2.0
//
// Durations of a job file, as ISO 8601 writes them ("PT1H30M", "P7D") or .NET ("7.00:00:00",
// "00:30:00").
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace batchai::job {

// In seconds, from 1 to kMaxDuration. A unit may have a fraction (PT1.5H); fractions of seconds are
// cut off. Years and months are refused, because they have no fixed length.
inline constexpr long kMaxDuration = 366L * 24 * 3600;
std::optional<long> parse_duration(std::string_view text);

// For sbatch's --time: "1-02:03:04".
std::string slurm_time(long seconds);

}  // namespace batchai::job
