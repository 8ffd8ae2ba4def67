// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/output/query.hpp"

#include <boost/test/unit_test.hpp>

namespace batchai::cli {
namespace {

const nlohmann::json kDocument = {{"executionState", "queued"},
                                  {"nodeStateCounts", {{"idleNodeCount", 4}}},
                                  {"text", "a<b&c ü"},
                                  {"number", 12345678901},
                                  {"list", {{{"n", 1}}, {{"n", 2}}}}};

bool have_jp() {
    if (!query_available()) BOOST_TEST_MESSAGE("skipped: jp is not installed");
    return query_available();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(query)

BOOST_AUTO_TEST_CASE(evaluates_jmespath) {
    if (!have_jp()) return;
    BOOST_TEST(*run_query("executionState", kDocument) == "queued");
    BOOST_TEST((*run_query("nodeStateCounts", kDocument))["idleNodeCount"] == 4);
    BOOST_TEST(*run_query("list[?n > `1`].n | [0]", kDocument) == 2);
    BOOST_TEST(*run_query("text", kDocument) == "a<b&c ü");
    BOOST_TEST(*run_query("number", kDocument) == 12345678901);
    BOOST_TEST(run_query("nothing", kDocument)->is_null());
}

BOOST_AUTO_TEST_CASE(says_what_is_wrong_with_an_expression) {
    if (!have_jp()) return;
    const auto bad = run_query("a[", kDocument);
    BOOST_REQUIRE(!bad);
    BOOST_TEST(bad.error().message.find("not a JMESPath expression") != std::string::npos);
    BOOST_TEST(bad.error().message.find('\n') == std::string::npos);
    BOOST_TEST(!run_query("nofunction(@)", kDocument));
    BOOST_TEST(!run_query("--version", kDocument));  // an expression, never an option of jp
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli
