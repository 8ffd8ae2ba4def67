// SPDX-License-Identifier: Apache-2.0
#include "spank/limits.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

using namespace batchai;

namespace {

std::vector<spank::Limit> limits_of(std::vector<std::string> entries) {
    std::vector<char*> environment;
    for (auto& entry : entries) environment.push_back(entry.data());
    environment.push_back(nullptr);
    spank::Limit limits[spank::kLimitCount];
    const int count = spank::submitted_limits(environment.data(), limits);
    return {limits, limits + count};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(limits)

BOOST_AUTO_TEST_CASE(submitted_limits_are_found) {
    const auto found = limits_of({"A=1", "SLURM_RLIMIT_NOFILE=1000", "SLURM_RLIMIT_CORE=U0",
                                  "SLURM_RLIMIT_AS=18446744073709551615"});
    BOOST_REQUIRE(found.size() == 3U);
    BOOST_TEST(found[0].name == std::string("CORE"));
    BOOST_TEST(found[0].soft == 0U);
    BOOST_TEST(found[1].resource == static_cast<int>(RLIMIT_NOFILE));
    BOOST_TEST(found[1].soft == 1000U);
    BOOST_TEST(found[2].soft == RLIM_INFINITY);
}

BOOST_AUTO_TEST_CASE(a_malformed_limit_is_ignored) {
    BOOST_TEST(limits_of({"SLURM_RLIMIT_NOFILE=", "SLURM_RLIMIT_CORE=U", "SLURM_RLIMIT_CPU=-1",
                          "SLURM_RLIMIT_DATA=1x", "SLURM_RLIMIT_NICE=1", "SLURM_RLIMIT_ASX=1",
                          "XSLURM_RLIMIT_AS=1"})
                   .empty());
}

BOOST_AUTO_TEST_CASE(only_the_soft_limit_is_set_and_never_above_the_hard_one) {
    const pid_t child = fork();
    if (child == 0) {
        rlimit files = {100, 200};
        const auto soft_is = [&](rlim_t soft) {
            return getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur == soft &&
                   files.rlim_max == 200;
        };
        const bool good = setrlimit(RLIMIT_NOFILE, &files) == 0 &&
                          spank::apply({"NOFILE", RLIMIT_NOFILE, 150}) && soft_is(150) &&
                          !spank::apply({"NOFILE", RLIMIT_NOFILE, 300}) && soft_is(150);
        _exit(good ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_SUITE_END()
