// SPDX-License-Identifier: Apache-2.0
#include "sys/codec.hpp"

#include <boost/test/unit_test.hpp>

using namespace batchai::sys;

namespace {

struct Small {
    int number = 0;
    BATCHAI_FIELDS(number)
};

struct Message {
    bool flag = false;
    std::string text;
    std::vector<Small> list;
    std::map<std::string, std::string> map;
    BATCHAI_FIELDS(flag, text, list, map)
};

std::string example() {
    Message message{true, std::string("a\0b", 3), {{1}, {2}}, {{"k", "v"}}};
    return encode(message);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(codec)

BOOST_AUTO_TEST_CASE(a_message_comes_back_as_it_was) {
    const std::string bytes = example();
    Reader reader(bytes);
    Message copy;
    BOOST_REQUIRE(decode(reader, copy));
    BOOST_TEST(reader.is_at_end());
    BOOST_TEST(copy.flag);
    BOOST_TEST(copy.text.size() == 3U);
    BOOST_TEST(copy.list.at(1).number == 2);
    BOOST_TEST(copy.map.at("k") == "v");
}

BOOST_AUTO_TEST_CASE(bytes_after_a_whole_message_are_refused) {
    BOOST_TEST(decode_whole<Message>(example()).has_value());
    BOOST_TEST(!decode_whole<Message>(example() + 'x').has_value());
}

BOOST_AUTO_TEST_CASE(a_message_cut_short_anywhere_is_noticed) {
    const std::string bytes = example();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        Reader reader(std::string_view(bytes).substr(0, size));
        Message copy;
        BOOST_TEST(!decode(reader, copy));
    }
}

BOOST_AUTO_TEST_CASE(a_flag_that_is_neither_true_nor_false_is_refused) {
    const std::string bytes("\2");
    Reader reader(bytes);
    bool flag = false;
    reader(flag);
    BOOST_TEST(!reader.ok());
    BOOST_TEST(!flag);
}

BOOST_AUTO_TEST_CASE(a_reader_that_wants_names_takes_no_string_with_a_zero_byte) {
    const std::string bytes = example();
    Reader reader(bytes, Reader::Strings::without_zero);
    Message copy;
    BOOST_TEST(!decode(reader, copy));
}

BOOST_AUTO_TEST_CASE(a_list_that_claims_to_be_endless_costs_nothing) {
    Writer writer;
    writer(std::uint64_t{1} << 60);
    const std::string bytes = writer.take();
    Reader reader(bytes);
    std::vector<Small> list;
    reader(list);
    BOOST_TEST(!reader.ok());
    BOOST_TEST(list.capacity() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
