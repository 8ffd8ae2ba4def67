// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "id_maps.hpp"
#include "sys/file.hpp"
#include "tests/unit/temporary_directory.hpp"

using namespace batchai;
using spank::Answer;

namespace {

// User nobody if the tests run as root, or else this user.
spank::Credentials some_user() {
    if (geteuid() == 0) return {65534, 65534, {65534}};
    return {geteuid(), getegid(), {}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(credentials)

BOOST_AUTO_TEST_CASE(work_is_done_with_the_users_rights) {
    const auto answer = spank::as_user(some_user(), 10, []() -> sys::Result<Answer> {
        return Answer{std::to_string(getuid()) + " " + std::to_string(geteuid()) + " " +
                          std::to_string(getegid()),
                      {}};
    });
    BOOST_REQUIRE(answer);
    const auto user = some_user();
    BOOST_TEST(answer->text == std::to_string(user.uid) + " " + std::to_string(user.uid) + " " +
                                   std::to_string(user.gid));
}

BOOST_AUTO_TEST_CASE(a_process_out_of_reach_has_the_effective_uid_alone_and_cannot_be_root_again) {
    if (geteuid() != 0) return;
    const spank::Credentials user{2001, 2001, {}, true};
    const auto answer = spank::as_user(user, 10, []() -> sys::Result<Answer> {
        uid_t real = 0;
        uid_t effective = 0;
        uid_t saved = 0;
        getresuid(&real, &effective, &saved);
        const bool root = setuid(0) == 0 || setresuid(0, 0, 0) == 0;
        return Answer{std::to_string(real) + " " + std::to_string(effective) + " " +
                          std::to_string(saved) + (root ? " root" : ""),
                      {}};
    });
    BOOST_REQUIRE(answer);
    BOOST_TEST(answer->text == "65534 2001 65534");
}

// The namespace shows 65534 for root too, which may signal its parent.
BOOST_AUTO_TEST_CASE(a_process_with_maps_is_out_of_reach_of_the_subordinate_ids_too,
                     *boost::unit_test::precondition(test::can_map_ids)) {
    const test::TemporaryDirectory directory;
    chmod((directory / "").c_str(), 0777);
    const spank::IdMaps maps{"0 2001 1\n1 100000 65536\n", "0 2002 1\n1 100000 65536\n"};
    const spank::Credentials user{2001, 2002, {}, true, maps};
    const auto answer = spank::as_user(user, 10, [&]() -> sys::Result<Answer> {
        uid_t real = 0;
        uid_t effective = 0;
        uid_t saved = 0;
        getresuid(&real, &effective, &saved);
        if (auto made = sys::write_file(directory / "made", "", 0600); !made) return made.error();
        const bool root = kill(getppid(), 0) == 0;
        return Answer{std::to_string(real) + " " + std::to_string(effective) + " " +
                          std::to_string(saved) + (root ? " root" : ""),
                      {}};
    });
    BOOST_REQUIRE(answer);
    BOOST_TEST(answer->text == "65534 0 65534");
    struct stat info = {};
    BOOST_REQUIRE(stat((directory / "made").c_str(), &info) == 0);
    BOOST_TEST(info.st_uid == 2001);
    BOOST_TEST(info.st_gid == 2002);
}

BOOST_AUTO_TEST_CASE(the_child_has_the_descriptors_that_are_kept_and_no_other) {
    const test::TemporaryDirectory directory;
    const sys::UniqueFd kept(open(directory.write("kept", "text", 0644).c_str(), O_RDONLY));
    const sys::UniqueFd other(open("/dev/null", O_RDONLY));
    for (const bool as_self : {true, false}) {
        const auto work = [&]() -> sys::Result<Answer> {
            if (fcntl(other.get(), F_GETFD) >= 0) return sys::Error{"the other is open"};
            char text[5] = {};
            if (pread(kept.get(), text, 4, 0) != 4) return sys::errno_error("pread");
            return Answer{text, {}};
        };
        const auto answer = as_self ? spank::as_root(10, work, "", {kept.get()})
                                    : spank::as_user(some_user(), 10, work, "", {kept.get()});
        BOOST_REQUIRE(answer);
        BOOST_TEST(answer->text == "text");
    }
}

BOOST_AUTO_TEST_CASE(a_file_of_root_alone_stays_closed) {
    if (geteuid() != 0) return;
    const test::TemporaryDirectory directory;
    const auto file = directory.write("secret", "x", 0600);
    const auto answer = spank::as_user(some_user(), 10, [&]() -> sys::Result<Answer> {
        auto text = sys::read_file(file, 10);
        if (!text) return text.error();
        return Answer{*text, {}};
    });
    BOOST_REQUIRE(!answer);
    BOOST_TEST(answer.error().message.find("Permission denied") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(open_files_and_long_texts_come_back) {
    const test::TemporaryDirectory directory;
    chmod(directory.path().c_str(), 0755);
    const auto file = directory.write("a", "content");
    const auto answer = spank::as_user(some_user(), 10, [&]() -> sys::Result<Answer> {
        Answer made;
        made.text.assign(300000, 'x');
        for (int i = 0; i < 10; ++i)
            made.files.emplace_back(open(file.c_str(), O_RDONLY | O_CLOEXEC));
        return made;
    });
    BOOST_REQUIRE(answer);
    BOOST_TEST(answer->text.size() == 300000U);
    BOOST_REQUIRE(answer->files.size() == 10U);
    BOOST_TEST(*sys::read_all(answer->files[9].get(), 100) == "content");
}

BOOST_AUTO_TEST_CASE(an_error_is_returned) {
    const auto answer =
        spank::as_user(some_user(), 10, []() -> sys::Result<Answer> { return sys::Error{"why"}; });
    BOOST_REQUIRE(!answer);
    BOOST_TEST(answer.error().message == "why");
}

BOOST_AUTO_TEST_CASE(a_child_that_dies_or_hangs_is_an_error) {
    BOOST_TEST(!spank::as_user(some_user(), 10, []() -> sys::Result<Answer> { _exit(0); }));
    BOOST_TEST(!spank::as_user(some_user(), 10, []() -> sys::Result<Answer> {
        raise(SIGKILL);
        return Answer{};
    }));
    BOOST_TEST(!spank::as_user(some_user(), 1, []() -> sys::Result<Answer> {
        pause();
        return Answer{};
    }));
}

BOOST_AUTO_TEST_CASE(too_much_is_an_error) {
    BOOST_TEST(!spank::as_user(some_user(), 10, []() -> sys::Result<Answer> {
        return Answer{std::string(2 << 20, 'x'), {}};
    }));
}

BOOST_AUTO_TEST_SUITE_END()
