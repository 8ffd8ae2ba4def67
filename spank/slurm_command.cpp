// SPDX-License-Identifier: Apache-2.0
#include "spank/slurm_command.hpp"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

namespace batchai::spank {

SlurmCommand::SlurmCommand(const char* name) {
    constexpr const char* kSrun = BATCHAI_SRUN;
    const int directory = static_cast<int>(strrchr(kSrun, '/') - kSrun);
    snprintf(path, sizeof path, "%.*s/%s", directory, kSrun, name);
    if (access(path, X_OK) == 0) return;

    char own[2048];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length <= 0) return;
    own[length] = '\0';
    for (int level = 0; level < 2; ++level)
        if (char* slash = strrchr(own, '/')) *slash = '\0';
    char beside[sizeof path];
    snprintf(beside, sizeof beside, "%s/bin/%s", own, name);
    if (access(beside, X_OK) == 0) memcpy(path, beside, sizeof path);
}

}  // namespace batchai::spank
