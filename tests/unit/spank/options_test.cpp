// SPDX-License-Identifier: Apache-2.0
#include "spank/options.hpp"

#include <boost/test/unit_test.hpp>

#include "fake_slurm.hpp"

using namespace batchai;

BOOST_AUTO_TEST_SUITE(options)

BOOST_AUTO_TEST_CASE(four_options_are_registered_and_marked_as_ours) {
    test::fake_slurm() = {};
    spank::register_options(nullptr);
    const auto& options = test::fake_slurm().options;
    BOOST_REQUIRE(options.size() == 4U);
    BOOST_TEST(options[0].name == std::string("batchai-job"));
    for (const auto& option : options) {
        BOOST_TEST(std::string(option.usage).starts_with("[batchai]"));
        BOOST_TEST(option.has_arg == 1);
    }
}

BOOST_AUTO_TEST_CASE(the_last_value_of_an_option_counts) {
    test::fake_slurm() = {};
    spank::register_options(nullptr);
    const auto& option = test::fake_slurm().options[spank::kPrep];
    option.cb(option.val, "first", 0);
    option.cb(option.val, "second", 0);
    BOOST_TEST(spank::given_options().value[spank::kPrep] == std::string("second"));
    option.cb(option.val, nullptr, 0);
    BOOST_TEST(!spank::given_options().any());
}

BOOST_AUTO_TEST_CASE(options_are_carried_by_the_environment) {
    char job[] = "SLURM_SPANK_BATCHAI_JOB=/a=b";
    char other[] = "SLURM_SPANK_BATCHAI_JOBS=x";
    char* environment[] = {other, job, nullptr};
    const auto carried = spank::carried_options(environment);
    BOOST_TEST(carried.value[spank::kJob] == std::string("/a=b"));
    BOOST_TEST(carried.value[spank::kMount] == nullptr);
    BOOST_TEST(carried.same(spank::node_options(environment)));
    BOOST_TEST(!carried.same(spank::Options()));
    char* empty[] = {nullptr};
    BOOST_TEST(!spank::carried_options(empty).any());
    BOOST_TEST(!spank::carried_options(nullptr).any());
}

BOOST_AUTO_TEST_CASE(the_admins_arguments_have_defaults) {
    char policy[] = "policy=/etc/p.toml";
    char* arguments[] = {policy};
    BOOST_TEST(spank::site(1, arguments).policy == std::string("/etc/p.toml"));
    BOOST_TEST(spank::site(1, arguments).libexec == std::string("/nowhere"));
    BOOST_TEST(spank::site(0, nullptr).policy == std::string("/etc/batchai/batchai.toml"));
}

BOOST_AUTO_TEST_SUITE_END()
