// SPDX-License-Identifier: Apache-2.0
#include "cli/admin/machine.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "sys/file.hpp"
#include "tests/unit/temporary_directory.hpp"

namespace batchai::cli {

BOOST_AUTO_TEST_SUITE(plugstack)

BOOST_AUTO_TEST_CASE(finds_our_lines_as_slurm_does) {
    const test::TemporaryDirectory directory;
    const std::string file = directory.path() + "/plugstack.conf";
    std::filesystem::create_directory(directory.path() + "/d");
    BOOST_REQUIRE(sys::write_file(file,
                                  "# required /a/spank_batchai.so\n"
                                  "required /lib/spank_other.so\n"
                                  "include d/*.conf # ours\n"
                                  "include nowhere/*\n"
                                  "optional spank_batchai.so\n",
                                  0644));
    BOOST_REQUIRE(sys::write_file(directory.path() + "/d/batchai.conf",
                                  "\nrequired /a/spank_batchai.so policy=/p libexec=/l\n", 0644));
    const auto lines = find_our_lines(file);
    BOOST_REQUIRE(lines);
    BOOST_REQUIRE(lines->size() == 2U);
    BOOST_TEST((*lines)[0].file == directory.path() + "/d/batchai.conf");
    BOOST_TEST((*lines)[0].number == 2);
    BOOST_TEST((*lines)[0].required);
    BOOST_TEST((*lines)[0].argument("policy", "") == "/p");
    BOOST_TEST((*lines)[0].argument("libexec", "") == "/l");
    BOOST_TEST((*lines)[1].plugin == "spank_batchai.so");
    BOOST_TEST(!(*lines)[1].required);
    BOOST_TEST((*lines)[1].argument("policy", "usual") == "usual");
    BOOST_TEST((*lines)[0].place() == (*lines)[0].file + ":2");
    BOOST_TEST((*lines)[0].unknown_words().empty());
}

BOOST_AUTO_TEST_CASE(a_line_that_slurm_cannot_use_is_an_error) {
    const test::TemporaryDirectory directory;
    const std::string file = directory.path() + "/plugstack.conf";
    const auto error_of = [&](const std::string& text) {
        BOOST_REQUIRE(sys::write_file(file, text, 0644));
        const auto lines = find_our_lines(file);
        return lines ? "" : lines.error().message;
    };
    BOOST_TEST(error_of("\trequired \tspank_batchai.so\tpolicy=/p # ours\r\n \t\n").empty());
    BOOST_TEST(error_of("\nrequired spank_batchai.so policy=/p\r\n")
                   .starts_with(file + ":2: has a carriage return"));
    BOOST_TEST(error_of("\r\n").starts_with(file + ":1: has a carriage return"));
    BOOST_TEST(error_of("requird spank_batchai.so\n") ==
               file + ":1: starts with 'requird': expected required, optional or include");
    BOOST_TEST(error_of("Required spank_other.so\n").starts_with(file + ":1: starts with 'Requ"));
    BOOST_TEST(error_of("optional\n") == file + ":1: names no file after 'optional'");
}

BOOST_AUTO_TEST_CASE(a_word_that_the_plugin_does_not_know_is_named) {
    const PlugstackLine line{
        "/f", 1, true, "x.so", {"policy=/p", "libexec", "Policy=/p", "libexec="}};
    BOOST_TEST(line.unknown_words() == (std::vector<std::string>{"libexec", "Policy=/p"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_file_that_includes_itself_is_an_error) {
    const test::TemporaryDirectory directory;
    const std::string file = directory.path() + "/plugstack.conf";
    BOOST_REQUIRE(sys::write_file(file, "include " + file + "\n", 0644));
    BOOST_TEST(!find_our_lines(file));
    BOOST_TEST(!find_our_lines(directory.path() + "/nowhere"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli
