// SPDX-License-Identifier: Apache-2.0
//
// Times in the service's forms, always in UTC. A time is in seconds since the epoch.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace batchai::cli {

std::string iso_time(double time);         // 2018-06-13T00:35:47.573000+00:00
std::string iso_seconds(double time);      // 2018-06-13T00:35:47+00:00
std::string plain_time(double time);       // 2018-06-13 00:35:47.573000+00:00
std::string duration_text(double length);  // 1 day, 0:01:23.456000

// Seconds of "7d": a number above 0 and s, m, h, d or w. Nothing for another text.
std::optional<double> parse_age(std::string_view text);

}  // namespace batchai::cli
