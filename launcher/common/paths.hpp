// SPDX-License-Identifier: Apache-2.0
//
// The places of this program and of its siblings, from /proc/self/exe (docs/architecture.md). They
// are the same in the build tree and installed.
#pragma once

#include <string>

#include "sys/result.hpp"

namespace batchai::launcher {

std::string own_executable();

// An absolute path; an error where the directory has been removed.
sys::Result<std::string> current_directory();

// A program of ours: beside this one, else in ../libexec/batchai. Empty: not found.
std::string sibling_program(const std::string& name);

// A file or directory below ../lib (or the distribution's own library directory). Empty: not found.
std::string sibling_library(const std::string& name);

}  // namespace batchai::launcher
