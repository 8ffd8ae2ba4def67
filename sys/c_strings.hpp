// SPDX-License-Identifier: Apache-2.0
//
// Arguments and environments for execve(2). They are made before the child process is, because the
// child of a process with threads must not allocate.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace batchai::sys {

// Strings, and a list of pointers to them with a null pointer at its end.
class CStrings {
  public:
    explicit CStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {
        for (std::string& text : strings_) pointers_.push_back(text.data());
        pointers_.push_back(nullptr);
    }
    CStrings(const CStrings&) = delete;
    CStrings& operator=(const CStrings&) = delete;

    char* const* get() const { return pointers_.data(); }

  private:
    std::vector<std::string> strings_;
    std::vector<char*> pointers_;
};

// "NAME=VALUE" for each variable.
inline std::vector<std::string> entries_of(const std::map<std::string, std::string>& environment) {
    std::vector<std::string> entries;
    for (const auto& [name, value] : environment) entries.push_back(name + "=" + value);
    return entries;
}

}  // namespace batchai::sys
