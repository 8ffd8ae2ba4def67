// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

namespace batchai::test {

// Whether this process is root, with the ids up to 200,000, and may make user namespaces. A process
// that has threads, such as those of a sanitizer, may not.
inline boost::test_tools::assertion_result can_map_ids(boost::unit_test::test_unit_id) {
    if (geteuid() != 0) return false;
    const pid_t child = fork();
    if (child == 0)
        _exit(setresuid(200000, -1, 200000) == 0 && unshare(CLONE_NEWUSER) == 0 ? 0 : 1);
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace batchai::test
