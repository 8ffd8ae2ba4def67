// SPDX-License-Identifier: Apache-2.0
#include "spank/limits.hpp"

#include <stdlib.h>
#include <string.h>

namespace batchai::spank {
namespace {

constexpr char kVariable[] = "SLURM_RLIMIT_";

// The names in Slurm's variables.
constexpr Limit kLimits[kLimitCount] = {
    {"CPU", RLIMIT_CPU, 0},     {"FSIZE", RLIMIT_FSIZE, 0},   {"DATA", RLIMIT_DATA, 0},
    {"STACK", RLIMIT_STACK, 0}, {"CORE", RLIMIT_CORE, 0},     {"RSS", RLIMIT_RSS, 0},
    {"NPROC", RLIMIT_NPROC, 0}, {"NOFILE", RLIMIT_NOFILE, 0}, {"MEMLOCK", RLIMIT_MEMLOCK, 0},
    {"AS", RLIMIT_AS, 0},
};

// "1024", or "U1024" if the user asked for it (--propagate).
bool parse(const char* text, rlim_t& value) {
    if (*text == 'U') ++text;
    if (*text < '0' || *text > '9') return false;
    char* end = nullptr;
    value = strtoul(text, &end, 10);
    return *end == '\0';
}

}  // namespace

int submitted_limits(char* const* environment, Limit (&limits)[kLimitCount]) {
    int count = 0;
    for (const Limit& limit : kLimits) {
        const size_t length = strlen(limit.name);
        for (char* const* entry = environment; *entry; ++entry) {
            if (strncmp(*entry, kVariable, sizeof kVariable - 1) != 0) continue;
            const char* name = *entry + sizeof kVariable - 1;
            if (strncmp(name, limit.name, length) != 0 || name[length] != '=') continue;
            limits[count] = limit;
            if (parse(name + length + 1, limits[count].soft)) ++count;
            break;
        }
    }
    return count;
}

bool apply(const Limit& limit) {
    rlimit now = {};
    if (getrlimit(limit.resource, &now) != 0) return false;
    now.rlim_cur = limit.soft;
    return setrlimit(limit.resource, &now) == 0;
}

}  // namespace batchai::spank
