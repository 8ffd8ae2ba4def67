// SPDX-License-Identifier: Apache-2.0
//
// A directory for one test, which removes it at its end.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

struct Directory {
    Directory() {
        char name[] = "/tmp/batchai-test-XXXXXX";
        path = ::mkdtemp(name);
    }
    ~Directory() { std::filesystem::remove_all(path); }
    std::string file() const { return path + "/file"; }
    std::string path;
};
