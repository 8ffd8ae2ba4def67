// SPDX-License-Identifier: Apache-2.0
#include "spank/state.hpp"

#include <fcntl.h>

#include <boost/test/unit_test.hpp>
#include <vector>

#include "spank/helper/fields.hpp"
#include "spank/helper/root/daemon_notes.hpp"
#include "tests/unit/temporary_directory.hpp"

using namespace batchai;
using namespace std::string_literals;

namespace {

struct Directory {
    Directory() : fd(open(directory.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}
    bool read(const std::string& text, uint32_t restart = 0, uid_t uid = 7) {
        directory.write(spank::kStateFile, text);
        return state.read(fd.get(), uid, restart);
    }
    test::TemporaryDirectory directory;
    spank::Descriptor fd;
    spank::State state;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(state_suite, Directory)

BOOST_AUTO_TEST_CASE(fields_and_environment_are_read) {
    BOOST_REQUIRE(read("uid=7\0restart=0\0result=ready\0mount=/a:b\0output=\0\0A=1\0B=\0"s));
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
    BOOST_TEST(!read("uid=7\0restart=1\0result=ready\0\0"s, 0));
    BOOST_TEST(read("uid=7\0restart=1\0result=ready\0\0"s, 1));
}

BOOST_AUTO_TEST_CASE(another_users_job_is_not_ours) {
    const auto text = "uid=7\0restart=1\0result=ready\0\0"s;
    BOOST_TEST(!read(text, 1, 8));
    BOOST_TEST(!read("restart=1\0result=ready\0\0"s, 1, 0));  // without a user
    BOOST_TEST(read(text, 1, 7));
}

// Our own identity as a witness, in the words of helper/root/daemon_notes.hpp.
std::string own_identity() {
    return spank::to_text(*spank::identify(getpid()));
}

BOOST_AUTO_TEST_CASE(a_witness_counts_while_it_lives) {
    BOOST_TEST(!spank::has_witness(fd.get()));
    directory.write(spank::kWitnessFile, own_identity());
    BOOST_TEST(spank::has_witness(fd.get()));
}

BOOST_AUTO_TEST_CASE(another_process_with_its_number_is_no_witness) {
    const auto words = spank::split_nonempty(own_identity(), ' ');
    BOOST_REQUIRE(words.size() == 3U);
    for (const auto& text : {""s, "x"s, words[0], words[0] + " " + words[1],
                             words[0] + " " + words[1] + "0 " + words[2],
                             words[0] + " 1 " + words[2], words[0] + " " + words[1] + " 0-0",
                             "0 0 " + words[2], "4194305 " + words[1] + " " + words[2]}) {
        directory.write(spank::kWitnessFile, text);
        BOOST_TEST(!spank::has_witness(fd.get()), text);
    }
}

BOOST_AUTO_TEST_CASE(a_truncated_state_is_not_ready) {
    for (const auto& text : {""s, "restart"s, "restart=0"s, "restart=0\0"s, "\0"s,
                             "restart=0\0\0A"s, "uid=7\0restart=0\0\0"s}) {
        read(text);
        BOOST_TEST(!state.ready());
        state.for_each_variable([](const char*) {});
    }
    BOOST_TEST(!read("uid=7\0restart=0\0"s + std::string(2 << 20, 'x')));
}

BOOST_AUTO_TEST_SUITE_END()
