// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/channel.hpp"

#include <boost/test/unit_test.hpp>

#include "launcher/common/message_pmix.hpp"

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(wire)

namespace {

Launch example() {
    Launch launch;
    launch.nspace = "name";
    launch.map = {{"n1", "n2"}, {0, 2, 3}};
    launch.programs = {
        {2, {"sh", "-c", std::string("a\0b", 3)}, {}, 0, false, false, {}, {}},
        {1, {"serve"}, "ps", 1, true, true, {{"A", "{index}"}}, "/out/{stream}.txt"}};
    launch.environment = {{"A", "1"}, {"EMPTY", ""}};
    launch.settings.dry_run = DryRun::json;
    launch.shared_host = true;
    return launch;
}

std::string encoded(const Launch& launch) {
    Writer writer;
    writer(launch);
    return writer.take();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_message_comes_back_as_it_was) {
    const std::string bytes = encoded(example());
    Reader reader(bytes);
    Launch copy;
    reader(copy);
    BOOST_TEST(reader.ok());
    BOOST_TEST(copy.map.nodes[1] == "n2");
    BOOST_TEST(copy.map.size() == 3);
    BOOST_TEST(copy.programs[0].argv[2].size() == 3U);
    BOOST_TEST(copy.programs[1].variables.at("A") == "{index}");
    BOOST_TEST(copy.programs[1].serves);
    BOOST_TEST(copy.environment.at("A") == "1");
    BOOST_TEST((copy.settings.dry_run == DryRun::json));
    BOOST_TEST(copy.shared_host);
}

BOOST_AUTO_TEST_CASE(an_agent_of_another_release_is_named_whatever_its_hello_has) {
    Hello hello;
    hello.version = "1.0";
    hello.name = "n2";
    const std::string bytes = batchai::sys::encode(hello);
    const std::string start = bytes.substr(0, 2 * sizeof(std::uint64_t) + 5);
    for (const std::string& its : {bytes, start, start + "other fields"}) {
        BOOST_TEST(other_release(Reader(its), "1.1").value_or("") ==
                   "n2 runs version 1.0 of batchai-launch, not 1.1");
        BOOST_TEST(!other_release(Reader(its), "1.0").has_value());
    }
    BOOST_TEST(!other_release(Reader("no hello"), "1.1").has_value());
}

BOOST_AUTO_TEST_CASE(a_message_cut_short_anywhere_is_noticed) {
    const std::string bytes = encoded(example());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        Reader reader(std::string_view(bytes).substr(0, size));
        Launch copy;
        reader(copy);
        BOOST_TEST(!reader.ok());
    }
}

BOOST_AUTO_TEST_CASE(a_list_that_claims_to_be_endless_costs_nothing) {
    Writer writer;
    writer(std::uint64_t{1} << 60);
    const std::string bytes = writer.take();
    Reader reader(bytes);
    std::vector<std::string> list;
    reader(list);
    BOOST_TEST(!reader.ok());
    BOOST_TEST(list.empty());
}

BOOST_AUTO_TEST_SUITE_END()
