// SPDX-License-Identifier: Apache-2.0

#include <boost/test/unit_test.hpp>

#include "cli/output/result_table.hpp"
#include "cli/output/result_text.hpp"

namespace batchai::cli {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

const json kDocument = json::parse(R"({
    "executionState": "queued",
    "nodeStateCounts": {"idleNodeCount": 4},
    "text": "a<b&c ü",
    "number": 12345678901,
    "list": [{"n": 1, "name": "b", "code": null}, {"n": 2, "name": "a", "code": 127}]})");

struct Query {
    const char* expression;
    const char* result;  // JSON
};

const Query kQueries[] = {{"executionState", R"("queued")"},
                          {"nodeStateCounts.idleNodeCount", "4"},
                          {"text", R"("a<b&c ü")"},
                          {"number", "12345678901"},
                          {"nowhere.at.all", "null"},
                          {"list[?n > `1`].n | [0]", "2"},
                          {"max_by(list, &n).name", R"("a")"},
                          // As in az, a literal that is not JSON is a string.
                          {"list[?name==`a`].n", "[2]"}};

const char* const kMistakes[] = {"a[",
                                 "a b",
                                 "[?name='a']",
                                 "{a}",
                                 "--version",
                                 "nofunction(@)",
                                 "length(number)",
                                 "list[::0]",
                                 "sort_by(list, &code)"};

bool have_jmespath() {
    const auto answer = run_query("@", kDocument);
    if (answer && !*answer) BOOST_TEST_MESSAGE("skipped: no Python has the module jmespath");
    return !answer || *answer;
}

nlohmann::ordered_json answer_of(const std::string& expression) {
    const auto answer = run_query(expression, kDocument);
    BOOST_REQUIRE_MESSAGE(answer, (answer ? "" : answer.error().message));
    return answer->value();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(query)

BOOST_AUTO_TEST_CASE(evaluates_jmespath) {
    if (!have_jmespath()) return;
    for (const auto& [expression, result] : kQueries) BOOST_TEST_CONTEXT(expression) {
            BOOST_TEST(json(answer_of(expression)) == json::parse(result));
        }
}

BOOST_AUTO_TEST_CASE(says_in_one_line_what_is_wrong_with_an_expression) {
    if (!have_jmespath()) return;
    for (const char* expression : kMistakes) BOOST_TEST_CONTEXT(expression) {
            const auto bad = run_query(expression, kDocument);
            BOOST_REQUIRE(!bad);
            BOOST_TEST(bad.error().message.starts_with("not a JMESPath expression"));
            BOOST_TEST(bad.error().message.find('\n') == std::string::npos);
        }
}

BOOST_AUTO_TEST_CASE(columns_of_tsv_and_table_are_in_the_order_of_the_query) {
    if (!have_jmespath()) return;
    const auto result = answer_of("list[].{name: name, n: n, code: code}");
    BOOST_TEST(tsv_text(result) == "b\t1\tNone\na\t2\t127\n");
    BOOST_TEST(result_table(result).text() ==
               "Name      N    Code\n------  ---  ------\nb         1\na         2     127\n");
    // Also where a later part of the query names its keys.
    BOOST_TEST(tsv_text(answer_of("sort_by(list[].{name: name, n: n}, &name)")) == "a\t2\nb\t1\n");
}

BOOST_AUTO_TEST_CASE(rows_that_are_arrays_have_numbered_columns) {
    const ordered_json rows = ordered_json::parse(R"([["a", 127, {"n": 2}], ["b"]])");
    BOOST_TEST(
        result_table(rows).titles == (std::vector<std::string>{"Column1", "Column2", "Column3"}),
        boost::test_tools::per_element());
    BOOST_TEST(result_table(rows).rows[0] == (std::vector<std::string>{"a", "127", R"({"n":2})"}),
               boost::test_tools::per_element());
    BOOST_TEST(result_table(ordered_json::array()).text() == "");
    BOOST_TEST(result_table(ordered_json::parse("[[1, 2], [3]]")).text() ==
               "  Column1    Column2\n---------  ---------\n        1          2\n        3\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli
