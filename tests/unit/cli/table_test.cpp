// SPDX-License-Identifier: Apache-2.0
#include "cli/output/table.hpp"

#include <boost/test/unit_test.hpp>

#include "cli/output/result_table.hpp"

namespace batchai::cli {

BOOST_AUTO_TEST_SUITE(table)

BOOST_AUTO_TEST_CASE(looks_as_az_printed_a_cluster) {
    const Table table{{"Name", "Resource Group", "Workspace", "VM Size", "State", "Idle", "Running",
                       "Preparing", "Leaving", "Unusable"},
                      {{"nc6cluster", "batchai.horovod", "batchaidev", "STANDARD_NC6", "steady",
                        "4", "0", "0", "0", "0"}}};
    BOOST_TEST(table.text() ==
               "Name        Resource Group    Workspace    VM Size       State      Idle    "
               "Running    Preparing    Leaving    Unusable\n"
               "----------  ----------------  -----------  ------------  -------  ------  "
               "---------  -----------  ---------  ----------\n"
               "nc6cluster  batchai.horovod   batchaidev   STANDARD_NC6  steady        4          "
               "0            0          0           0\n");
}

BOOST_AUTO_TEST_CASE(keeps_a_column_with_an_empty_number_to_the_right) {
    const Table table{{"Name", "Exit code"}, {{"a", "127"}, {"b", ""}}};
    BOOST_TEST(table.text() ==
               "Name      Exit code\n"
               "------  -----------\n"
               "a               127\n"
               "b\n");
}

BOOST_AUTO_TEST_CASE(a_table_without_rows_prints_nothing) {
    BOOST_TEST((Table{{"Name"}, {}}).text().empty());
}

BOOST_AUTO_TEST_CASE(counts_characters_and_not_bytes) {
    const Table table{{"N", "M"}, {{"äöü", "x"}, {"abc", "y"}}};
    BOOST_TEST(table.text() ==
               "N    M\n"
               "---  ---\n"
               "äöü  x\n"
               "abc  y\n");
}

BOOST_AUTO_TEST_CASE(commands_no_terminal) {
    const Table table{{"Name"}, {{"a\033[31m\nb"}}};
    BOOST_TEST(table.text() == "Name\n--------------\na\\u001b[31m\\nb\n");
}

BOOST_AUTO_TEST_CASE(a_table_of_a_query_has_the_keys_as_titles) {
    BOOST_TEST(result_table({{"idleNodeCount", 4}, {"name", "x"}, {"nested", {1}}}).text() ==
               "  IdleNodeCount  Name\n"
               "---------------  ------\n"
               "              4  x\n");
    BOOST_TEST(result_table("queued").text() ==
               "Result\n"
               "--------\n"
               "queued\n");
}

BOOST_AUTO_TEST_CASE(on_a_narrow_terminal_does_without_spare_columns_before_it_cuts_a_cell) {
    const Table table{
        {"Name", "Group", "State"}, {{"training", "batchai.horovod", "failed"}}, {"Group"}};
    BOOST_TEST(table.text(20) ==
               "Name      State\n"
               "--------  ------\n"
               "training  failed\n");
    BOOST_TEST(table.text(80).find("batchai.horovod") != std::string::npos);
    BOOST_TEST(table.text().find("batchai.horovod") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli
