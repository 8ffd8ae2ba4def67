// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <boost/test/unit_test.hpp>

// The precondition of tests with files of several owners.
inline boost::test_tools::assertion_result as_root(boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result root(geteuid() == 0);
    root.message() << "needs root: other owners";
    return root;
}
