// SPDX-License-Identifier: Apache-2.0
//
// Functions that batchai calls and that the wheel's glibc lacks. Every source of the wheel includes
// this file first.
#pragma once

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

int memfd_create(const char* name, unsigned int flags);
ssize_t getrandom(void* buffer, size_t length, unsigned int flags);
int close_range(unsigned int first, unsigned int last,
                int flags);  // of flags, all where Linux has them

#ifdef __cplusplus
}
#endif
