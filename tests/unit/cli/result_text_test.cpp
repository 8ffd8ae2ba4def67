// SPDX-License-Identifier: Apache-2.0
#include "cli/output/result_text.hpp"

#include <boost/test/unit_test.hpp>

#include "cli/output/table.hpp"

namespace batchai::cli {
namespace {

using nlohmann::json;

const json kResult = json::parse(R"([
    {"name": "a", "list": [1, 2], "inside": {"x": 1}, "none": null, "yes": true, "n": 3},
    {"name": "b"}])");

}  // namespace

BOOST_AUTO_TEST_SUITE(result_text)

BOOST_AUTO_TEST_CASE(tsv_has_a_line_for_each_element_and_values_by_key) {
    BOOST_TEST(tsv_text(kResult) == "\t2\t3\ta\tNone\tTrue\nb\n");
    BOOST_TEST(tsv_text("queued") == "queued\n");  // no quotes: what scripts read
    BOOST_TEST(tsv_text(json::array({1, 2})) == "1\n2\n");
    BOOST_TEST(tsv_text(json::array()) == "");
    BOOST_TEST(tsv_text(json::parse(R"([["a", 1], ["b", 2]])")) == "a\t1\nb\t2\n");
    BOOST_TEST(tsv_text(true) == "true\n");
    // A tab or a line end within a value is not one between values.
    BOOST_TEST(tsv_text(json::parse(R"([["a\tb\nc", "\u001b[2J"]])")) == "a\\tb\\nc\t\\u001b[2J\n");
}

BOOST_AUTO_TEST_CASE(yaml_is_block_style_and_quotes_what_is_another_type) {
    BOOST_TEST(yaml_text(kResult[0]) ==
               "inside:\n  x: 1\nlist:\n- 1\n- 2\n\"n\": 3\nname: a\nnone: null\n\"yes\": true\n");
    BOOST_TEST(yaml_text(json::array({{{"a", 1}, {"b", json::array()}}})) == "- a: 1\n  b: []\n");
    for (const char* text : {"true", "No", "null", "1", "", " x", "a: b", "2018-01-01", "-"})
        BOOST_TEST(yaml_text(text) == json(text).dump() + "\n");
    BOOST_TEST(yaml_text("plain") == "plain\n");
}

BOOST_AUTO_TEST_CASE(a_table_is_not_wider_than_the_terminal) {
    const Table table{{"Name", "Cluster Workspace", "Nodes"},
                      {{std::string(60, 'n'), std::string(60, 'w'), "1234567"}}};
    const std::string text = table.text(80);
    for (std::size_t start = 0; start < text.size(); start = text.find('\n', start) + 1)
        BOOST_TEST(text.find('\n', start) - start <= 80U, text);
    BOOST_TEST(text.find("1234567") != std::string::npos);  // a number is never cut
    BOOST_TEST(text.find("n~") != std::string::npos);
    BOOST_TEST(table.text(0).find(std::string(60, 'n')) != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli
