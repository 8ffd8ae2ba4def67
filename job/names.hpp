// SPDX-License-Identifier: Apache-2.0
//
// Which strings of a job file may become names of files, variables and objects.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace batchai::job {

// Components of [A-Za-z0-9_.-] separated by single slashes, none of them "." or "..", none starting
// with '-'; at most 255 bytes each, 1024 in all. What a job may name on a node.
bool is_relative_path(std::string_view text);

// Any names but "." and ".." between single slashes, the first at the start; no control characters.
bool is_absolute_path(std::string_view text);

// Whether a path is a directory or below it, going by the names alone.
bool is_within(const std::string& path, const std::string& directory);

// Whether a text has a control character in it, such as the end of a line.
bool has_control(std::string_view text);

// [A-Za-z_][A-Za-z0-9_]*
bool is_variable_name(std::string_view text);

// The service's pattern for names of groups, workspaces, jobs: [-\w.]{1,64}, but not "." and "..".
inline constexpr std::size_t kObjectNameMaximum = 64;
bool is_object_name(std::string_view text);

// Of letters of ASCII only.
std::string lower_case(std::string text);
bool equal_but_case(std::string_view a, std::string_view b);

}  // namespace batchai::job
