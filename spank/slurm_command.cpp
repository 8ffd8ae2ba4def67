// SPDX-License-Identifier: Apache-2.0
#include "spank/slurm_command.hpp"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

namespace batchai::spank {

SlurmCommand::SlurmCommand(const char* name) {
    constexpr const char* kSrun = BATCHAI_SRUN;
    static_assert(kSrun[0] == '/');  // root does not look for programs in other ways
    char own[2048] = "";
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    for (int level = 0; level < 2; ++level)
        if (char* slash = strrchr(own, '/')) *slash = '\0';
    snprintf(path, sizeof path, "%s/bin/%s", own, name);
    if (length > 0 && access(path, X_OK) == 0) return;
    const int directory = static_cast<int>(strrchr(kSrun, '/') - kSrun);
    snprintf(path, sizeof path, "%.*s/%s", directory, kSrun, name);
}

}  // namespace batchai::spank
