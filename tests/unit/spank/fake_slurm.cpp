// SPDX-License-Identifier: Apache-2.0
#include "fake_slurm.hpp"

namespace batchai::test {
FakeSlurm& fake_slurm() {
    static FakeSlurm slurm;
    return slurm;
}
}  // namespace batchai::test

namespace batchai::spank::slurm {

void register_option(Handle, spank_option* option) {
    test::fake_slurm().options.push_back(*option);
}

bool set_job_variable(Handle, const char* name, const char* value) {
    test::fake_slurm().job_variables[name] = value;
    return true;
}

void set_comment(const char* text) {
    test::fake_slurm().comment = text;
}

uint32_t job_number(Handle) {
    return test::fake_slurm().job;
}

void say(const char* line) {
    test::fake_slurm().lines.emplace_back(line);
}

}  // namespace batchai::spank::slurm
