// SPDX-License-Identifier: Apache-2.0
//
// The paths of this program and its siblings, found from /proc/self/exe (docs/architecture.md).
// They work in the build tree and in an installation.
#pragma once

#include <string>

#include "sys/result.hpp"

namespace batchai::sys {

std::string own_executable();

// An absolute path. An error if the directory was removed.
Result<std::string> current_directory();

// The path of a program on the PATH. Empty: not found.
std::string program_on_path(const std::string& name);

// A program of batchai: beside this one, or else in ../libexec/batchai. Empty: not found.
std::string sibling_program(const std::string& name);

// A file or directory below ../lib (or the distribution's own library directory). Empty: not found.
std::string sibling_library(const std::string& name);

}  // namespace batchai::sys
