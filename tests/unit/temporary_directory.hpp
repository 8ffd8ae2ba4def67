// SPDX-License-Identifier: Apache-2.0
//
// A directory that a test may fill and that is gone after it.
#pragma once

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace batchai::test {

class TemporaryDirectory {
  public:
    explicit TemporaryDirectory(const std::string& below = "/tmp")
        : path_(below + "/batchai-test.XXXXXX") {
        if (mkdtemp(path_.data()) == nullptr)
            throw std::filesystem::filesystem_error("mkdtemp", path_, {});
    }
    ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

    const std::string& path() const { return path_; }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

    std::string write(const std::string& name, const std::string& text, mode_t mode = 0644) const {
        const std::string file = *this / name;
        std::ofstream(file) << text;
        chmod(file.c_str(), mode);
        return file;
    }

    std::string read(const std::string& name) const {
        std::ostringstream text;
        text << std::ifstream(*this / name).rdbuf();
        return text.str();
    }

  private:
    std::string path_;
};

}  // namespace batchai::test
