// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/user/node_plan.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/unit/make_mount.hpp"
#include "tests/unit/printing.hpp"

using namespace batchai;
using job::MountType;
using spank::NodePlan;

BOOST_AUTO_TEST_SUITE(node_plan)

NodePlan example() {
    NodePlan plan;
    const job::EntryName entry{"[[share]]", "a*", "s", "", "//h/s"};
    plan.mounts = {make_mount(MountType::bind, "/a", "x"),
                   make_mount(MountType::tmpfs, "", "t/u"),
                   make_mount(MountType::overlay, "/lower", "w"),
                   {MountType::cifs, "//h/s/d", "o", false, false, "", entry, "d", "vers=3", "me",
                    "hush", 0640, 0750}};
    plan.mounts[0].read_only = true;
    plan.mounts[1].no_exec = true;
    plan.mounts[1].size = "1M";
    plan.mounts[2].size = "2M";
    plan.environment = {"A=1", "B=two\nlines"};
    plan.log_directory = "/logs";
    plan.outputs = {{"/a/b/outputs", "/a"}, {"/c/outputs/d", "/c"}};
    plan.command = "echo 'x'\nexit 0";
    plan.image = "busybox:1.35";
    plan.failure = "why";
    return plan;
}

BOOST_AUTO_TEST_CASE(a_plan_survives_its_bytes) {
    const auto again = spank::node_plan_from_bytes(to_bytes(example()));
    BOOST_REQUIRE(again);
    BOOST_TEST(*again == example());
}

BOOST_AUTO_TEST_CASE(bytes_that_no_plan_makes_are_refused) {
    const std::string bytes = to_bytes(example());
    for (std::size_t size = 0; size < bytes.size(); ++size)
        BOOST_REQUIRE(!spank::node_plan_from_bytes(bytes.substr(0, size)));
    BOOST_TEST(!spank::node_plan_from_bytes(bytes + '\0'));
    std::string unknown_kind = bytes;
    unknown_kind[sizeof(std::uint64_t)] = 7;
    BOOST_TEST(!spank::node_plan_from_bytes(unknown_kind));
}

// ".." and ".." with a zero byte behind it are one name to the kernel and two to a comparison.
BOOST_AUTO_TEST_CASE(a_plan_with_a_zero_byte_in_a_path_is_refused) {
    using namespace std::string_literals;
    NodePlan plan;
    plan.mounts = {make_mount(MountType::bind, "/a", "..\0/x"s)};
    BOOST_TEST(!spank::node_plan_from_bytes(to_bytes(plan)));
}

BOOST_AUTO_TEST_CASE(paths_below_a_mount_are_found_outside_of_it) {
    NodePlan plan;
    plan.mounts = {make_mount(MountType::bind, "/srv/share", "myshare")};
    job::SitePolicy policy;
    policy.mount_root = "/run/batchai/mnt";
    BOOST_TEST(spank::outside_path("/run/batchai/mnt/myshare/out", plan, policy,
                                   "/tmp/batchai-1-a") == "/srv/share/out");
    BOOST_TEST(spank::outside_path("/run/batchai/mnt/myshare2/out", plan, policy,
                                   "/tmp/batchai-1-a") == "/run/batchai/mnt/myshare2/out");
    BOOST_TEST(spank::outside_path("/home/u/out", plan, policy, "/tmp/batchai-1-a") ==
               "/home/u/out");
    BOOST_TEST(spank::outside_path("/run/batchai/mnt/.temp/out", plan, policy,
                                   "/tmp/batchai-1-a") == "/tmp/batchai-1-a/out");
    plan.mounts = {make_mount(MountType::tmpfs, "", "scratch")};
    BOOST_TEST(spank::outside_path("/run/batchai/mnt/scratch/out", plan, policy, "/tmp/batchai-1-a")
                   .empty());
}

BOOST_AUTO_TEST_CASE(options_without_a_job_file_make_a_plan) {
    spank::Request request;
    request.job_id = 5;
    request.node = "n1";
    request.hosts = {"n1"};
    request.preparation = "true";
    request.submit_directory = "/";
    const auto plan = spank::make_node_plan(request, job::SitePolicy());
    BOOST_REQUIRE(plan);
    BOOST_TEST(plan->command == "true");
    BOOST_TEST(plan->log_directory == "/");
    BOOST_TEST(plan->log_node == "n1");
    BOOST_TEST(plan->failure.empty());
    request.output = "/logs";
    BOOST_TEST(spank::make_node_plan(request, job::SitePolicy())->log_directory == "/logs");
}

BOOST_AUTO_TEST_CASE(logs_need_the_directory_of_the_submission) {
    spank::Request request;
    request.node = "n1";
    request.hosts = {"n1"};
    request.preparation = "true";
    request.submit_directory = "/nowhere";
    for (const auto* output : {"", "/nowhere", "/nowhere/logs"}) {
        request.output = output;
        const auto plan = spank::make_node_plan(request, job::SitePolicy());
        BOOST_REQUIRE(plan);
        BOOST_TEST(plan->failure ==
                   "/nowhere: the directory of the submission is not on this node: name another "
                   "one with --batchai-output");
        BOOST_TEST(plan->log_directory.empty());
    }
    request.output = "/nowhere-else/logs";
    BOOST_TEST(spank::make_node_plan(request, job::SitePolicy())->failure.empty());
}

BOOST_AUTO_TEST_CASE(the_temporary_directory_is_one_path_in_the_job_and_no_name_to_guess_outside) {
    spank::Request request;
    request.job_id = 5;
    request.secret = "0123abcd";
    BOOST_TEST(spank::job_temp(request, job::SitePolicy()) == "/tmp/batchai-5-0123abcd");
    const auto plan = spank::make_node_plan(request, job::SitePolicy());
    BOOST_REQUIRE(plan);
    const auto& variables = plan->environment;
    BOOST_TEST(std::count(variables.begin(), variables.end(),
                          "AZ_BATCHAI_JOB_TEMP=/run/batchai/mnt/.temp") == 1);
}

BOOST_AUTO_TEST_CASE(a_job_file_must_be_a_snapshot) {
    spank::Request request;
    request.node = "n1";
    request.hosts = {"n1"};
    for (const auto* file : {"job.json", "/nowhere/job.json", "/dev/zero", "/"}) {
        request.job_file = file;
        BOOST_TEST(!spank::make_node_plan(request, job::SitePolicy()), file);
    }
}

BOOST_AUTO_TEST_SUITE_END()
