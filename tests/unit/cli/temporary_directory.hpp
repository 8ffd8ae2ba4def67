// SPDX-License-Identifier: Apache-2.0
//
// A directory that goes away with its owner, and files in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace batchai::cli::test {

class TemporaryDirectory {
  public:
    TemporaryDirectory() {
        std::string pattern = std::filesystem::temp_directory_path() / "batchai-cli.XXXXXX";
        path_ = ::mkdtemp(pattern.data());
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    ~TemporaryDirectory() { std::filesystem::remove_all(path_); }

    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    const std::string& path() const { return path_; }

    void write(const std::string& name, const std::string& text,
               std::ios::openmode mode = std::ios::trunc) const {
        std::ofstream(path_ + "/" + name, std::ios::out | std::ios::binary | mode) << text;
    }
    std::string read(const std::string& name) const {
        std::ostringstream text;
        text << std::ifstream(path_ + "/" + name, std::ios::binary).rdbuf();
        return text.str();
    }

  private:
    std::string path_;
};

}  // namespace batchai::cli::test
