// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/scratch.hpp"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <optional>

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(scratch)

BOOST_AUTO_TEST_CASE(a_sweep_spares_what_is_in_use_and_removes_what_is_left) {
    auto made = Scratch::make();
    BOOST_REQUIRE(made);
    std::optional<Scratch> mine(std::move(*made));
    const std::string directory = mine->directory, memory = mine->memory;
    BOOST_TEST(std::filesystem::is_directory(directory));
    sweep_scratch();
    BOOST_TEST(std::filesystem::is_directory(directory));
    mine.reset();  // as if killed: the lock goes, the directory stays
    BOOST_TEST(std::filesystem::is_directory(directory));
    sweep_scratch();
    BOOST_TEST(!std::filesystem::exists(directory));
    BOOST_TEST((memory.empty() || !std::filesystem::exists(memory)));
}

BOOST_AUTO_TEST_CASE(only_the_first_gets_a_name) {
    const std::string name = std::to_string(100'000 + ::getpid() % 900'000);
    const auto first = Scratch::make(name), second = Scratch::make(name);
    BOOST_REQUIRE(first);
    BOOST_REQUIRE(second);
    BOOST_TEST(first->directory == "/tmp/batchai.run." + name);
    BOOST_TEST(second->directory != first->directory);
    for (const Scratch* scratch : {&*first, &*second}) {
        BOOST_TEST(std::filesystem::is_directory(scratch->directory));
        scratch->remove();
    }
}

BOOST_AUTO_TEST_CASE(a_sweep_does_not_touch_directories_of_the_plugin_and_of_users) {
    const std::string number = std::to_string(100'000 + ::getpid() % 900'000);
    for (const std::string& directory : {"/tmp/batchai-" + number, "/tmp/batchai." + number}) {
        BOOST_REQUIRE(std::filesystem::create_directory(directory));
        sweep_scratch();
        BOOST_TEST(std::filesystem::remove(directory));
    }
}

BOOST_AUTO_TEST_SUITE_END()
