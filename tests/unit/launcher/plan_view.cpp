// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/plan_view.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(plan_view)

namespace {

Plan plan() {
    return {{{"n1", "n2"}, {0, 1, 2}},
            {{2, {"sh", "-c", "echo $KEY"}, {}, 0, false, false, {}, {}}},
            "/work",
            {{0, {0}, {0, 1}, {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"KEY", "s3cret"}}},
             {1, {}, {}, {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"KEY", "s3cret"}}}}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_text_plan_has_common_variables_once) {
    Plan known = plan();
    hide(known, {{"KEY", "s3cret"}});
    BOOST_TEST(as_text(known) ==
               "every rank: sh -c 'echo $KEY'\n"
               "    in /work\n"
               "    KEY='***'\n"
               "    WORLD_SIZE=2\n"
               "rank 0 on n1: GPU 0, cores 0-1\n"
               "    RANK=0\n"
               "rank 1 on n2: no GPU, not bound\n"
               "    RANK=1\n");
}

BOOST_AUTO_TEST_CASE(the_plan_has_each_program_with_its_ranks) {
    Plan known = plan();
    known.programs[0].ranks = 1;
    known.programs.push_back({1, {"serve"}, "ps", 0, false, true, {}, {}});
    BOOST_TEST(
        as_text(known).starts_with("rank 0: sh -c 'echo $KEY'\nrank 1: serve\n    in /work"));
    const auto document = nlohmann::json::parse(as_json(known));
    BOOST_TEST(document["ranks"][1]["command"] == nlohmann::json({"serve"}));
}

BOOST_AUTO_TEST_CASE(programs_find_each_rank_complete) {
    const auto document = nlohmann::json::parse(as_json(plan()));
    BOOST_TEST(document["command"].size() == 3U);
    const auto& rank = document["ranks"][1];
    BOOST_TEST(rank["node"] == "n2");
    BOOST_TEST(rank["local_rank"] == 0);
    BOOST_TEST(rank["environment"]["WORLD_SIZE"] == "2");
    BOOST_TEST(document["ranks"][0]["cores"] == nlohmann::json({0, 1}));
}

BOOST_AUTO_TEST_CASE(a_secret_is_hidden_wherever_it_turns_up) {
    Plan known = plan();
    known.programs[0].argv = {"prog", "--key=s3cret2", "s3cret/s3cret"};
    known.ranks[1].environment["OTHER"] = "as3cretb";
    known.ranks[1].environment["EMPTY"] = "shown elsewhere";
    hide(known, {{"KEY", "s3cret"}, {"TWO", "s3cret2"}, {"EMPTY", ""}});
    for (const std::string& text : {as_text(known), as_json(known)}) {
        BOOST_TEST(text.find("s3cret") == text.npos);
        BOOST_TEST(text.find("--key=***") != text.npos);
    }
    BOOST_TEST(as_text(known).find("--key=***2") == std::string::npos);
    BOOST_TEST(known.ranks[1].environment["OTHER"] == "a***b");
}

BOOST_AUTO_TEST_CASE(a_secret_that_a_rank_printed_is_not_kept_in_the_report) {
    std::string text = "    token s3cret-1\n    BEGIN KEY\n    }\n    of its second line\n";
    hide(text, {{"A", "s3cret-1"}, {"B", "BEGIN KEY\n}\nof its second line\n"}, {"C", ""}});
    BOOST_TEST(text == "    token ***\n    ***\n    }\n    ***\n");
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_text_are_no_reason_to_fail) {
    Plan known = plan();
    known.programs[0].argv.push_back("\xff");
    BOOST_TEST(nlohmann::json::accept(as_json(known)));
}

BOOST_AUTO_TEST_SUITE_END()
