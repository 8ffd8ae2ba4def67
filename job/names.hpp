// SPDX-License-Identifier: Apache-2.0
//
// Checks of strings in a job file that become names of files, variables and objects.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace batchai::job {

// Components of [A-Za-z0-9_.-] with single slashes between them. No component is "." or "..", or
// starts with '-'. At most 255 bytes each and 1024 in all. A job may use such a path on a node.
bool is_relative_path(std::string_view text);

// Names between single slashes, with a slash at the start. No name is "." or "..", and none has a
// control character.
bool is_absolute_path(std::string_view text);

// True if a path is a directory or below it, by the names alone: ".." is a name like others, and no
// link is followed. Slashes at the directory's end do not matter.
bool is_within(std::string_view path, std::string_view directory);

// "/a/b" for "/a/b//". The root directory stays "/".
std::string without_trailing_slashes(std::string path);

// True if a text has a control character, such as the end of a line.
bool has_control(std::string_view text);

// [A-Za-z_][A-Za-z0-9_]*
bool is_variable_name(std::string_view text);

// The service's pattern for names of groups, workspaces and jobs: [-\w.]{1,64}, except "." and
// "..".
inline constexpr std::size_t kObjectNameMaximum = 64;
bool is_object_name(std::string_view text);

// Changes ASCII letters only.
std::string lower_case(std::string text);
bool equal_but_case(std::string_view a, std::string_view b);

}  // namespace batchai::job
