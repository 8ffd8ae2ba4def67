// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/program.hpp"

#include <boost/test/unit_test.hpp>

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(program)

namespace {

std::vector<Program> chief_worker_ps() {
    Program chief, worker, ps;
    chief.name = "chief", worker.name = "worker", ps.name = "ps";
    chief.ranks = ps.ranks = 1, worker.ranks = 2;
    worker.first_index = 1;
    return {chief, worker, ps};
}
const Meeting kMeeting = {"n1:500", "launch7", {"n1:1", "n1:2", "n2:3", "n1:4"}};

}  // namespace

BOOST_AUTO_TEST_CASE(the_fields_of_a_toolkit_are_filled_in_for_each_rank) {
    const auto programs = chief_worker_ps();
    const auto filled = [&](const char* text, int rank) {
        return fill_in(text, programs, rank, kMeeting);
    };
    BOOST_TEST(filled("wk-{index} {place}", 0) == "wk-0 0");
    BOOST_TEST(filled("wk-{index} {place}", 2) == "wk-2 1");
    BOOST_TEST(filled("{hosts:chief,worker}|{hosts:ps}|{hosts:none}", 0) == "n1:1,n1:2,n2:3|n1:4|");
    BOOST_TEST(filled(R"({"worker":{json:worker},"x":{json:none}})", 3) ==
               R"({"worker":["n1:2","n2:3"],"x":[]})");
    BOOST_TEST(filled("{index", 2) == "{index");
    BOOST_TEST(filled("tcp://{first} {launch} {other} {", 1) == "tcp://n1:500 launch7 {other} {");
}

BOOST_AUTO_TEST_CASE(the_variables_of_a_toolkit_know_those_of_the_job) {
    auto programs = chief_worker_ps();
    programs[1].variables = {{"A", "{index}"}, {"B", "$AZ_BATCHAI_JOB_TEMP/{launch}$A"}};
    env::Environment environment = {{"AZ_BATCHAI_JOB_TEMP", "/t"}, {"A", "of the job"}};
    add_variables(environment, programs, 2, kMeeting);
    BOOST_TEST(environment["A"] == "2");
    BOOST_TEST(environment["B"] == "/t/launch7$A");
    add_variables(environment, programs, 0, kMeeting);
    BOOST_TEST(environment["A"] == "2");  // another program's are not its
    BOOST_TEST(names_hosts(programs) == false);
}

BOOST_AUTO_TEST_SUITE_END()
