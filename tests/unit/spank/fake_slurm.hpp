// SPDX-License-Identifier: Apache-2.0
//
// The tests' Slurm: what the plugin says to it is kept here.
#pragma once

#include <map>
#include <string>
#include <vector>

extern "C" {
#include <slurm/spank.h>
}

#include "spank/slurm_api.hpp"

namespace batchai::test {

struct FakeSlurm {
    std::vector<spank_option> options;
    std::map<std::string, std::string> job_variables;
    std::vector<std::string> lines;
    std::string comment;
    uint32_t job = 0;
};
FakeSlurm& fake_slurm();

}  // namespace batchai::test
