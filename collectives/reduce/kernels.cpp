// SPDX-License-Identifier: Apache-2.0
#include "collectives/reduce/kernels.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "collectives/reduce/table.hpp"

namespace batchai::coll {

#if defined(__x86_64__)

namespace {

// Not every compiler has a name for F16C.
bool has_f16c() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

}  // namespace

bool runs_here(InstructionSet set) {
    __builtin_cpu_init();
    switch (set) {
        case InstructionSet::portable:
            return true;
        case InstructionSet::avx2:
            return __builtin_cpu_supports("avx2") && has_f16c();
        case InstructionSet::avx512:
            return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    }
    return false;
}

const Table& table_of(InstructionSet set) {
    if (set == InstructionSet::avx512) return kAvx512;
    return set == InstructionSet::avx2 ? kAvx2 : kPortable;
}

#else

bool runs_here(InstructionSet set) {
    return set == InstructionSet::portable;
}

const Table& table_of(InstructionSet) {
    return kPortable;
}

#endif

InstructionSet best_instruction_set() {
    static const InstructionSet best = runs_here(InstructionSet::avx512) ? InstructionSet::avx512
                                       : runs_here(InstructionSet::avx2) ? InstructionSet::avx2
                                                                         : InstructionSet::portable;
    return best;
}

Reduction reduction_of(std::uint8_t type, std::uint8_t op, InstructionSet set) {
    return table_of(set).types[type].ops[op];
}

}  // namespace batchai::coll
