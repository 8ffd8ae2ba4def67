// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "cli/admin/doctor_nodes.hpp"
#include "cli/admin/machine.hpp"
#include "slurm/nodes.hpp"
#include "sys/file.hpp"
#include "tests/unit/temporary_directory.hpp"

namespace batchai::cli {
namespace {

HomeIdentity home(const std::string& text) {
    const auto identity = parse_home_identity(text);
    BOOST_REQUIRE(identity.has_value());
    BOOST_TEST(identity->text() == text);
    return *identity;
}

bool same(const std::string& a, const std::string& b) {
    return may_be_same(home(a), home(b)) && may_be_same(home(b), home(a));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(doctor)

BOOST_AUTO_TEST_CASE(two_machines_homes_are_compared_by_what_their_file_systems_can_know) {
    BOOST_TEST(same("own:7:1.000000002", "own:7:1.000000002"));
    BOOST_TEST(!same("own:7:1.000000002", "own:7:1.000000003"));  // two disks with equal numbers
    BOOST_TEST(!same("served:7:1.2", "served:8:1.2"));
    BOOST_TEST(same("served:7:1.2", "served:7:1.9"));  // a client knows an old time
    BOOST_TEST(same("own:7:1.2", "served:7:1.9"));     // the file server itself asks
    BOOST_TEST(!same("own:7:1.2", "served:8:1.2"));
    BOOST_TEST(same("numbered:7:1.2", "served:9:3.4"));  // SMB: numbers of the client's own
}

BOOST_AUTO_TEST_CASE(a_mount_whose_locks_do_not_reach_other_machines_is_named) {
    BOOST_TEST(lock_trouble("nfs4", "rw,vers=4.2,hard,local_lock=none,addr=10.0.0.1") == "");
    BOOST_TEST(lock_trouble("nfs", "rw,vers=3,local_lock=none") == "");
    BOOST_TEST(lock_trouble("nfs", "rw,vers=3,local_lock=flock") == "");
    BOOST_TEST(lock_trouble("lustre", "rw,flock,lazystatfs") == "");
    BOOST_TEST(lock_trouble("ext4", "rw") == "");
    for (const auto& [type, options, part] :
         {std::tuple{"nfs", "rw,vers=3,nolock,local_lock=all", "with nolock"},
          {"nfs4", "rw,local_lock=all", "with local_lock=all"},
          {"nfs4", "rw,local_lock=posix", "with local_lock=posix"},
          {"lustre", "rw,localflock", "with localflock"},
          {"lustre", "rw,lazystatfs", "without file locks"},
          {"lustre", "rw,noflock", "without file locks"}})
        BOOST_TEST(lock_trouble(type, options).find(part) != std::string::npos, options);
}

BOOST_AUTO_TEST_CASE(a_text_that_is_not_a_home_identity_is_refused) {
    for (const char* text : {"", "own", "own:7", "own:x:1.2", "own:7x:1.2", "other:7:1.2", ":7:"})
        BOOST_TEST(!parse_home_identity(text).has_value(), text);
    BOOST_TEST(!home_identity("/nowhere"));
    BOOST_REQUIRE(home_identity("/"));
    BOOST_TEST(same(home_identity("/")->text(), home_identity("/")->text()));
}

BOOST_AUTO_TEST_CASE(a_nodes_answer_that_is_no_list_of_findings_is_an_error) {
    const auto findings = parse_findings(
        R"([{"check": "slurm", "state": "ok", "message": "22.05.8"}, {"check": "x", "state": "error", "message": "y"}])");
    BOOST_REQUIRE(findings);
    BOOST_REQUIRE(findings->size() == 2U);
    BOOST_TEST(((*findings)[1] == Finding{"x", State::error, "y"}));
    BOOST_TEST(parse_findings("[]")->empty());
    for (const char* text : {"", "{}", "[1]", "[[]]", R"([{"state": "good"}])", R"([{"state": 1}])",
                             "Welcome to n1!\n[]"})
        BOOST_TEST(!parse_findings(text), text);
}

BOOST_AUTO_TEST_CASE(equal_findings_are_one_row_with_its_nodes) {
    const Finding good{"slurm", State::ok, "22.05.8"};
    const Finding bad{"plugin", State::error, "/x: is gone"};
    const auto rows = rows_of({{"n1", {good, bad}}, {"n2", {good}}, {"n3", {good, bad, bad}}});
    BOOST_REQUIRE(rows.size() == 2U);
    BOOST_TEST((rows[0].finding == good));
    BOOST_TEST(rows[0].nodes == (std::vector<std::string>{"n1", "n2", "n3"}),
               boost::test_tools::per_element());
    BOOST_TEST(rows[1].nodes == (std::vector<std::string>{"n1", "n3"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_node_with_another_policy_than_most_is_named) {
    const auto policy = [](const std::string& digest) {
        return Finding{"policy", State::ok, "/etc/batchai/batchai.toml, SHA-256 " + digest};
    };
    std::vector<NodeFindings> answers{
        {"n1", {policy("aa")}}, {"n2", {policy("bb")}}, {"n3", {policy("aa")}}, {"n4", {}}};
    compare_policies(answers);
    BOOST_TEST(answers[0].findings.size() == 1U);
    BOOST_REQUIRE(answers[1].findings.size() == 2U);
    BOOST_TEST((answers[1].findings[1].state == State::error));
    BOOST_TEST(answers[3].findings.empty());
}

BOOST_AUTO_TEST_CASE(the_releases_of_a_plugin_are_read_from_its_file) {
    const test::TemporaryDirectory directory;
    const std::string file = directory.path() + "/plugin.so";
    const auto of = [&](const std::string& bytes) {
        BOOST_REQUIRE(sys::write_file(file, bytes, 0644));
        return built_for(file);
    };
    const auto built =
        of(std::string("\177ELF\0@(#)batchai plugin 0.1.0 for Slurm 22.05.8\0x", 50));
    BOOST_REQUIRE(built);
    BOOST_TEST(built->batchai == "0.1.0");
    BOOST_TEST(built->slurm == "22.05.8");
    for (const char* text : {"", "@(#)batchai plugin ", "@(#)batchai plugin 0.1.0 for Slurm ",
                             "@(#)batchai plugin 0.1.0 of Slurm 22.05.8"})
        BOOST_TEST(!of(text), text);
    BOOST_TEST(!built_for(directory.path() + "/none"));
}

BOOST_AUTO_TEST_CASE(a_node_that_slurm_keeps_from_jobs_is_not_asked) {
    for (const char* state : {"idle", "mixed", "allocated", "idle~", "completing"})
        BOOST_TEST(slurm::can_run_jobs(state), state);
    for (const char* state : {"down", "down*", "idle*", "drained", "draining", "fail", "maint"})
        BOOST_TEST(!slurm::can_run_jobs(state), state);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli
