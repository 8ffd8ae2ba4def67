// SPDX-License-Identifier: Apache-2.0
//
// expect_well: of a job's ends, by rank: nothing has gone wrong.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

namespace batchai::coll {

inline void expect_well(const std::vector<std::string>& ends) {
    for (std::size_t r = 0; r < ends.size(); ++r)
        BOOST_TEST(ends[r] == "", "rank " << r << ": " << ends[r]);
}

}  // namespace batchai::coll
