// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/binding.hpp"
#include "sys/text.hpp"

#include <boost/test/unit_test.hpp>
#include <set>

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(binding)

BOOST_AUTO_TEST_CASE(every_core_goes_to_exactly_one_rank) {
    std::vector<Core> cores;
    for (int c = 0; c < 13; ++c) cores.push_back({c, c + 13});
    for (int ranks = 1; ranks <= 13; ++ranks) {
        const auto shares = share_cores(cores, ranks);
        BOOST_REQUIRE(static_cast<int>(shares.size()) == ranks);
        std::set<int> seen;
        std::size_t least = 100, most = 0;
        for (const auto& share : shares) {
            for (int cpu : share) BOOST_TEST(seen.insert(cpu).second);
            least = std::min(least, share.size());
            most = std::max(most, share.size());
        }
        BOOST_TEST(seen.size() == 26U);
        BOOST_TEST(most - least <= 2U);  // one core of two threads
    }
}

BOOST_AUTO_TEST_CASE(ranks_oversubscribe_cores_only_where_they_are_more) {
    BOOST_TEST(!(Load{2, 2}).oversubscribed());
    BOOST_TEST((Load{3, 2}).oversubscribed());
    BOOST_TEST(!(Load{3, 0}).oversubscribed());
    BOOST_TEST((Load{3, 2}).cores_of_each() == 1);
    BOOST_TEST((Load{2, 5}).cores_of_each() == 2);
}

BOOST_AUTO_TEST_CASE(a_cpu_that_slurm_has_not_granted_is_not_used) {
    const std::vector<Core> cores = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
    BOOST_TEST(granted_cores(cores, "", 0) == 4);
    BOOST_TEST(granted_cores(cores, "8(x3)", 2) == 4);
    BOOST_TEST(granted_cores(cores, "4(x2),1,6", 1) == 2);
    BOOST_TEST(granted_cores(cores, "4(x2),1,6", 2) == 1);
    BOOST_TEST(granted_cores(cores, "4(x2),1,6", 3) == 3);
    BOOST_TEST(granted_cores(cores, "4(x2),1,6", 4) == 4);
    BOOST_TEST(granted_cores(cores, "many", 0) == 4);
    BOOST_TEST(granted_cores({}, "1", 0) == 0);
}

BOOST_AUTO_TEST_CASE(more_ranks_than_cores_are_not_bound) {
    BOOST_TEST(share_cores({{0}, {1}}, 3).empty());
    BOOST_TEST(share_cores({}, 1).empty());
    BOOST_TEST(share_cores({{0}}, 0).empty());
}

BOOST_AUTO_TEST_CASE(threads_of_a_core_stay_together) {
    const auto shares = share_cores({{0, 4}, {1, 5}}, 2);
    BOOST_TEST(batchai::sys::number_list(shares[0]) == "0,4");
    BOOST_TEST(batchai::sys::number_list(shares[1]) == "1,5");
}

BOOST_AUTO_TEST_CASE(lists_are_written_with_ranges) {
    BOOST_TEST(batchai::sys::number_list({0, 1, 2, 3, 8, 10, 11}) == "0-3,8,10-11");
    BOOST_TEST(batchai::sys::number_list({}).empty());
}

BOOST_AUTO_TEST_CASE(this_process_may_run_on_some_core) {
    BOOST_TEST(!allowed_cores(load_topology(false)).empty());
    BOOST_TEST(!allowed_cores(load_topology(true)).empty());
}

BOOST_AUTO_TEST_SUITE_END()
