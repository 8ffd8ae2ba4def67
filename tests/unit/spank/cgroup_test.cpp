// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/cgroup.hpp"

#include <boost/test/unit_test.hpp>

using batchai::spank::daemon_cgroups;
using Paths = std::vector<std::string>;

BOOST_AUTO_TEST_SUITE(cgroup)

constexpr char kMounts[] =
    "30 23 0:26 / /sys/fs/cgroup rw shared:9 - tmpfs tmpfs rw,mode=755\n"
    "31 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n"
    "32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "33 30 0:29 / /sys/fs/cgroup/freezer rw shared:12 - cgroup cgroup rw,freezer\n"
    "34 30 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

BOOST_AUTO_TEST_CASE(version_1_gets_one_below_the_jobs_in_each_hierarchy_of_slurms) {
    const auto found = daemon_cgroups(
        "6:freezer:/slurm_n1/uid_1000/job_17/step_0\n5:cpu,cpuacct:/\n"
        "4:memory:/slurm/uid_1000/job_17\n0::/\n",
        kMounts);
    BOOST_REQUIRE(found);
    BOOST_TEST(*found == (Paths{"/sys/fs/cgroup/freezer/slurm_n1/uid_1000/job_17/batchai",
                                "/sys/fs/cgroup/memory/slurm/uid_1000/job_17/batchai"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(version_2_gets_one_below_the_jobs) {
    const auto found =
        daemon_cgroups("0::/system.slice/slurmstepd.scope/job_17/step_0/user/task_0\n", kMounts);
    BOOST_REQUIRE(found);
    BOOST_TEST(
        *found == (Paths{"/sys/fs/cgroup/unified/system.slice/slurmstepd.scope/job_17/batchai"}),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_hierarchy_that_is_mounted_in_part_is_found_below_its_root) {
    const auto found = daemon_cgroups("0::/box/scope/job_17/step_0\n",
                                      "31 30 0:27 /box /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    BOOST_REQUIRE(found);
    BOOST_TEST(*found == Paths{"/sys/fs/cgroup/scope/job_17/batchai"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_slurm_in_a_job_of_another_slurm_has_the_inner_job) {
    const auto found = daemon_cgroups(
        "0::/outer.scope/job_3/step_0/user/task_0/inner.scope/job_17/step_0\n", kMounts);
    BOOST_REQUIRE(found);
    BOOST_TEST(*found == Paths{"/sys/fs/cgroup/unified/outer.scope/job_3/step_0/user/task_0/"
                               "inner.scope/job_17/batchai"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(without_slurms_cgroups_there_is_nothing_to_leave) {
    const auto found = daemon_cgroups("6:freezer:/\n0::/user.slice/session-1.scope\n", kMounts);
    BOOST_REQUIRE(found);
    BOOST_TEST(found->empty());
}

BOOST_AUTO_TEST_CASE(a_hierarchy_that_is_mounted_nowhere_is_an_error) {
    const auto found = daemon_cgroups("7:devices:/slurm/uid_1/job_17\n", kMounts);
    BOOST_REQUIRE(!found);
    BOOST_TEST(found.error().message ==
               "cgroup 7:devices:/slurm/uid_1/job_17: is not mounted, so a FUSE program cannot "
               "leave the step's cgroup");
}

BOOST_AUTO_TEST_SUITE_END()
