// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/readiness.hpp"

#include <boost/test/unit_test.hpp>
#include <sstream>

using namespace batchai::launcher;

namespace {

bool shows(const std::string& mountinfo, const std::string& job) {
    std::istringstream text("22 1 0:5 / / rw - ext4 /dev/sda1 rw\n" + mountinfo);
    return shows_job_mounts(text, job);
}

std::vector<Hello> nodes(std::initializer_list<bool> ready) {
    std::vector<Hello> hellos;
    for (const bool one : ready) {
        Hello& hello = hellos.emplace_back();
        hello.name = "n" + std::to_string(hellos.size());
        hello.in_job_mounts = one;
    }
    return hellos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(readiness)

BOOST_AUTO_TEST_CASE(another_jobs_mounts_are_not_taken_for_ours) {
    const std::string root =
        "90 22 0:70 / /run/batchai/mnt ro,nosuid - tmpfs batchai-17-0123456789abcdef ro\n";
    BOOST_TEST(shows(root, "17"));
    BOOST_TEST(!shows(root, "1"));
    BOOST_TEST(!shows(root, "7"));
    BOOST_TEST(!shows(root, ""));
}

BOOST_AUTO_TEST_CASE(a_directory_with_the_roots_name_is_not_taken_for_it) {
    BOOST_TEST(!shows("90 22 8:1 / /tmp/batchai-17-0 rw - ext4 /dev/sda2 rw\n", "17"));
    BOOST_TEST(!shows("90 22 8:1 / /mnt rw - fuse.sshfs batchai-17-0 rw\n", "17"));
}

BOOST_AUTO_TEST_CASE(nodes_that_are_not_ready_are_named) {
    const auto mixed = check_readiness(nodes({true, false, true, false}), "17", false);
    BOOST_REQUIRE(!mixed);
    BOOST_TEST(mixed.error().message.starts_with("n2, n4: the mounts of job 17 are missing"));
    const auto none = check_readiness(nodes({false}), "17", true);
    BOOST_REQUIRE(!none);
    BOOST_TEST(none.error().message.starts_with("n1: "));
}

BOOST_AUTO_TEST_CASE(a_job_that_asks_for_nothing_needs_nothing) {
    BOOST_TEST(check_readiness(nodes({false, false}), "17", false).has_value());
    BOOST_TEST(check_readiness(nodes({true, true}), "17", true).has_value());
    BOOST_TEST(!asks_for_mounts({{"SLURM_SPANK_OTHER", "x"}, {"SLURM_SPANK_BATCHAJ", "x"}}));
    BOOST_TEST(!asks_for_mounts({{"SLURM_SPANK_BATCHAI_MOUNT", ""}}));
    BOOST_TEST(asks_for_mounts({{"SLURM_SPANK_BATCHAI_MOUNT", "x"}}));
}

BOOST_AUTO_TEST_SUITE_END()
