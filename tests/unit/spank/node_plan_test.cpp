// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/node_plan.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

using namespace batchai;
using spank::NodePlan;

namespace {

job::Mount mount(job::MountType type, const std::string& source, const std::string& target) {
    job::Mount made;
    made.type = type;
    made.source = source;
    made.target = target;
    return made;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(node_plan)

BOOST_AUTO_TEST_CASE(a_plan_survives_its_text) {
    NodePlan plan;
    plan.mounts = {mount(job::MountType::bind, "/a", "x"), mount(job::MountType::tmpfs, "", "t/u"),
                   mount(job::MountType::cifs, "//h/s/d", "o")};
    plan.mounts[0].read_only = true;
    plan.mounts[1].no_exec = true;
    plan.mounts[1].size = "1M";
    plan.mounts[2].entry = 3;
    plan.mounts[2].directory = "d";
    plan.mounts[2].options = "vers=3,a=b";
    plan.mounts[2].file_mode = 0640;
    plan.mounts[2].directory_mode = 0750;
    plan.mounts[2].account = "me";
    plan.mounts[2].key = "hush";
    plan.environment = {"A=1", "B=two\nlines"};
    plan.log_directory = "/logs";
    plan.outputs = {{"/a/b/outputs", "/a"}, {"/c/outputs/d", "/c"}};
    plan.command = "echo 'x'\nexit 0";
    plan.image = "busybox:1.35";
    plan.failure = "why";
    const auto again = spank::node_plan_from_text(to_text(plan));
    BOOST_REQUIRE(again);
    BOOST_REQUIRE(again->mounts.size() == 3U);
    BOOST_REQUIRE(again->outputs.size() == 2U);
    BOOST_TEST(again->outputs[1].path == "/c/outputs/d");
    BOOST_TEST(again->outputs[1].shared == "/c");
    for (std::size_t i = 0; i < 3; ++i) {
        BOOST_TEST((again->mounts[i].type == plan.mounts[i].type));
        BOOST_TEST(again->mounts[i].source == plan.mounts[i].source);
        BOOST_TEST(again->mounts[i].target == plan.mounts[i].target);
        BOOST_TEST(again->mounts[i].read_only == plan.mounts[i].read_only);
        BOOST_TEST(again->mounts[i].no_exec == plan.mounts[i].no_exec);
        BOOST_TEST(again->mounts[i].size == plan.mounts[i].size);
        BOOST_TEST(again->mounts[i].entry == plan.mounts[i].entry);
        BOOST_TEST(again->mounts[i].directory == plan.mounts[i].directory);
        BOOST_TEST(again->mounts[i].options == plan.mounts[i].options);
        BOOST_TEST(again->mounts[i].file_mode == plan.mounts[i].file_mode);
        BOOST_TEST(again->mounts[i].directory_mode == plan.mounts[i].directory_mode);
        BOOST_TEST(again->mounts[i].account == plan.mounts[i].account);
        BOOST_TEST(again->mounts[i].key == plan.mounts[i].key);
    }
    BOOST_TEST(again->environment == plan.environment);
    BOOST_TEST(again->log_directory == "/logs");
    BOOST_TEST(again->command == plan.command);
    BOOST_TEST(again->image == plan.image);
    BOOST_TEST(again->failure == "why");
}

BOOST_AUTO_TEST_CASE(a_text_that_no_plan_makes_is_refused) {
    spank::Fields fields;
    fields.add("type", "0");
    BOOST_TEST(!spank::node_plan_from_text(fields.text()));
    const auto complete = [&] {
        for (const auto* name :
             {"source", "target", "size", "directory", "options", "account", "key"})
            fields.add(name, "");
        for (const auto* name : {"entry", "read_only", "no_exec", "file_mode", "directory_mode"})
            fields.add(name, "0");
    };
    complete();
    BOOST_TEST(spank::node_plan_from_text(fields.text()).has_value());
    fields.add("type", "9");
    complete();
    BOOST_TEST(!spank::node_plan_from_text(fields.text()));
    BOOST_TEST(!spank::node_plan_from_text("cut off"));
}

BOOST_AUTO_TEST_CASE(paths_below_a_mount_are_found_outside_of_it) {
    NodePlan plan;
    plan.mounts = {mount(job::MountType::bind, "/srv/share", "myshare")};
    job::SitePolicy policy;
    policy.mount_root = "/run/batchai/mnt";
    BOOST_TEST(spank::outside_path("/run/batchai/mnt/myshare/out", plan, policy) ==
               "/srv/share/out");
    BOOST_TEST(spank::outside_path("/run/batchai/mnt/myshare2/out", plan, policy) ==
               "/run/batchai/mnt/myshare2/out");
    BOOST_TEST(spank::outside_path("/home/u/out", plan, policy) == "/home/u/out");
    plan.mounts = {mount(job::MountType::tmpfs, "", "scratch")};
    BOOST_TEST(spank::outside_path("/run/batchai/mnt/scratch/out", plan, policy).empty());
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

BOOST_AUTO_TEST_CASE(the_temporary_directory_has_a_name_that_nobody_can_guess) {
    spank::Request request;
    request.job_id = 5;
    request.secret = "0123abcd";
    BOOST_TEST(spank::job_temp(request, job::SitePolicy()) == "/tmp/batchai-5-0123abcd");
    const auto plan = spank::make_node_plan(request, job::SitePolicy());
    BOOST_REQUIRE(plan);
    const auto& variables = plan->environment;
    BOOST_TEST(std::count(variables.begin(), variables.end(),
                          "AZ_BATCHAI_JOB_TEMP=/tmp/batchai-5-0123abcd") == 1);
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
