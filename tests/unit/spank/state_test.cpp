// SPDX-License-Identifier: Apache-2.0
#include "spank/state.hpp"

#include <fcntl.h>

#include <boost/test/unit_test.hpp>
#include <vector>

#include "temporary.hpp"

using namespace batchai;
using namespace std::string_literals;

namespace {

struct Directory {
    Directory() : fd(open(directory.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}
    bool read(const std::string& text, uint32_t restart = 0) {
        directory.write(spank::kStateFile, text);
        return state.read(fd.get(), restart);
    }
    test::TemporaryDirectory directory;
    spank::Descriptor fd;
    spank::State state;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(state_suite, Directory)

BOOST_AUTO_TEST_CASE(fields_and_environment_are_read) {
    BOOST_REQUIRE(read("restart=0\0result=ready\0mount=/a:b\0output=\0\0A=1\0B=\0"s));
    BOOST_TEST(state.ready());
    BOOST_TEST(!state.failed());
    BOOST_TEST(state.options().value[spank::kMount] == "/a:b"s);
    BOOST_TEST(state.options().value[spank::kOutput] == nullptr);
    BOOST_TEST(state.field("A") == ""s);
    std::vector<std::string> variables;
    state.for_each_variable([&](const char* entry) { variables.emplace_back(entry); });
    BOOST_TEST(variables == (std::vector<std::string>{"A=1", "B="}));
}

BOOST_AUTO_TEST_CASE(another_run_of_a_requeued_job_is_not_ours) {
    BOOST_TEST(!read("restart=1\0result=ready\0\0"s, 0));
    BOOST_TEST(read("restart=1\0result=ready\0\0"s, 1));
}

BOOST_AUTO_TEST_CASE(what_is_cut_off_does_no_harm) {
    for (const auto& text : {""s, "restart"s, "restart=0"s, "restart=0\0"s, "\0"s,
                             "restart=0\0\0A"s, "restart=0\0\0"s}) {
        read(text);
        BOOST_TEST(!state.ready());
        state.for_each_variable([](const char*) {});
    }
    BOOST_TEST(!read("restart=0\0"s + std::string(2 << 20, 'x')));
}

BOOST_AUTO_TEST_SUITE_END()
