// SPDX-License-Identifier: Apache-2.0
#include "sys/text.hpp"

#include <boost/test/unit_test.hpp>

#include "sys/shell.hpp"

using namespace batchai::sys;

BOOST_AUTO_TEST_CASE(ordinary_text_is_printed_as_it_is) {
    for (const char* text :
         {"", "a b~!\\x1b", "größe", "日本語", "🙂", "\u00a0\u200d\u2010\ufeff",
          "\u061b\u061d\u200d\u2027\u202f\u2065\u206a"})
        BOOST_TEST(printable(text) == text);
}

BOOST_AUTO_TEST_CASE(no_control_character_is_printed) {
    BOOST_TEST(printable("a\x1b]0;b\a") == "a\\u001b]0;b\\u0007");
    BOOST_TEST(printable(std::string_view("\0\b\t\n\r\x7f", 6)) ==
               "\\u0000\\u0008\\t\\n\\r\\u007f");
    BOOST_TEST(printable("\u0080\u009b31m\u009f") == "\\u0080\\u009b31m\\u009f");
    BOOST_TEST(printable("\u202egnp.\u2066\u2069\u202a\u200e\u200f\u061c\u2028\u2029") ==
               "\\u202egnp.\\u2066\\u2069\\u202a\\u200e\\u200f\\u061c\\u2028\\u2029");
}

BOOST_AUTO_TEST_CASE(no_byte_is_printed_that_is_not_utf_8) {
    BOOST_TEST(printable("\x9b"
                         "31m\xc3") == "\\x9b31m\\xc3");
    BOOST_TEST(printable("\xc2") == "\\xc2");
    BOOST_TEST(printable("\xc2\x1b") == "\\xc2\\u001b");
    BOOST_TEST(printable("\xc1\x9b\xe0\x82\x9b") == "\\xc1\\x9b\\xe0\\x82\\x9b");  // too long
    BOOST_TEST(printable("\xed\xa0\x80\xf4\x90\x80\x80\xff") ==
               "\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\xff");  // surrogate, too large, no start
}

BOOST_AUTO_TEST_CASE(line_ends_stay_in_printable_lines) {
    BOOST_TEST(printable_lines("a\x1b\n\r\nb\u009b\n") == "a\\u001b\n\\r\nb\\u009b\n");
    const std::string once = printable("\x1b\x9b\u202e\n");
    BOOST_TEST(printable(once) == once);
}

BOOST_AUTO_TEST_CASE(a_quoted_word_is_the_same_to_bash_and_harmless_on_a_terminal) {
    BOOST_TEST(shell_quoted("a\nb") == "'a\nb'");
    BOOST_TEST(shell_quoted("größe") == "'größe'");
    BOOST_TEST(shell_quoted("it's \\ \x1b[\u202e") == "$'it\\'s \\\\ \\x1b[\\xe2\\x80\\xae'");
}

BOOST_AUTO_TEST_CASE(words_are_read_as_a_shell_reads_them) {
    const auto are = [](const char* line, const std::vector<std::string>& wanted) {
        BOOST_TEST(*shell_words(line) == wanted, boost::test_tools::per_element());
    };
    are("", {});
    are(" a\t b ", {"a", "b"});
    are(R"(a'b c'"d e" '' "\"$x\n")", {"ab cd e", "", "\"$x\\n"});
    are(R"(a\ b '\' \)", {"a b", "\\", "\\"});
    BOOST_TEST(!shell_words("a 'b"));
    BOOST_TEST(!shell_words("\"a'"));
    const std::string odd = "it's \"a\" $b \\ c";
    are(shell_quoted(odd).c_str(), {odd});
}

BOOST_AUTO_TEST_CASE(counts_expand) {
    BOOST_TEST(expand_counts("4") == std::vector<int>{4}, boost::test_tools::per_element());
    for (const char* wrong : {"", "many", "-1", "1(x0)", "1(x99999999)", "1(x999999),1(x999999)"}) {
        BOOST_TEST(expand_counts(wrong).empty());
    }
}

BOOST_AUTO_TEST_CASE(counts_become_the_list_that_gives_them_back) {
    const auto is = [](const std::vector<int>& counts, const std::string& list) {
        BOOST_TEST(counts_of(counts) == list);
        BOOST_TEST(expand_counts(list) == counts, boost::test_tools::per_element());
    };
    is({4}, "4");
    is({2, 2, 2, 1}, "2(x3),1");
    is({0, 4, 0, 0}, "0,4,0(x2)");
}

BOOST_AUTO_TEST_CASE(arguments_are_quoted_only_where_needed) {
    BOOST_TEST(shell_quoted("--nodes=4") == "--nodes=4");
    BOOST_TEST(shell_quoted("a b") == "'a b'");
    BOOST_TEST(shell_quoted("it's") == "'it'\\''s'");
    BOOST_TEST(shell_quoted("") == "''");
}
