// SPDX-License-Identifier: Apache-2.0
#include "sys/directories.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <vector>

#include "as_root.hpp"

using namespace batchai::sys;
namespace fs = std::filesystem;

namespace {

constexpr gid_t kTeam = 3000;
struct User {
    uid_t uid;
    std::vector<gid_t> groups;
};
const User kAlice{2001, {kTeam}};
const User kBob{2002, {kTeam}};
const User kMallory{2003, {}};

struct Share {
    Share() : path("/tmp/batchai-test.XXXXXX") {
        BOOST_REQUIRE(::mkdtemp(path.data()) != nullptr);
        BOOST_REQUIRE(::chmod(path.c_str(), 0755) == 0);
        BOOST_REQUIRE(::mkdir((path + "/share").c_str(), 0700) == 0);
        share = path + "/share";
    }
    ~Share() { fs::remove_all(path); }

    void give(mode_t mode, gid_t group = 0) const {
        BOOST_REQUIRE(::chown(share.c_str(), 0, group) == 0);
        BOOST_REQUIRE(::chmod(share.c_str(), mode) == 0);
    }
    struct stat status(const std::string& name) const {
        struct stat info = {};
        BOOST_TEST(::lstat((share + "/" + name).c_str(), &info) == 0, name);
        return info;
    }
    mode_t mode(const std::string& name) const { return status(name).st_mode & 07777; }

    std::string path, share;
};

// Starts work in a process of the user's; it ends with 0 where work returns an empty text, which is
// what went wrong.
pid_t start_as(const User& user, mode_t mask, const std::function<std::string()>& work) {
    const pid_t child = ::fork();
    BOOST_REQUIRE(child >= 0);
    if (child != 0) return child;
    ::umask(mask);
    if (::setgroups(user.groups.size(), user.groups.data()) != 0 || ::setgid(user.uid) != 0 ||
        ::setuid(user.uid) != 0)
        std::_Exit(2);
    const std::string wrong = work();
    if (!wrong.empty()) std::fprintf(stderr, "%s\n", wrong.c_str());
    std::_Exit(wrong.empty() ? 0 : 1);
}

int wait_for(pid_t child) {
    int status = 0;
    BOOST_TEST(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

bool as(const User& user, mode_t mask, const std::function<std::string()>& work) {
    return wait_for(start_as(user, mask, work)) == 0;
}

std::string text_of(const Result<void>& result) {
    return result ? "" : result.error().message;
}

bool shares(const User& user, mode_t mask, const std::string& path) {
    return as(user, mask, [&] { return text_of(make_shared_directories(path)); });
}

// Whether the error is this text.
bool fails(const User& user, const std::string& text, const std::function<Result<void>()>& work) {
    return as(user, 022, [&] {
        const std::string got = text_of(work());
        return got == text ? "" : "not '" + text + "': " + got;
    });
}

std::string passwd_name(uid_t uid) {
    return "user " + std::to_string(uid);  // it has none
}

}  // namespace

BOOST_AUTO_TEST_SUITE(directories)

BOOST_AUTO_TEST_CASE(directories_are_made_with_their_parents_less_the_umask) {
    const Share share;
    const Umask mask(027);
    BOOST_TEST(make_directories(share.share + "/a/b//c/").has_value());
    BOOST_TEST(make_directories(share.share + "/a/b/c").has_value());
    BOOST_TEST(share.mode("a/b/c") == 0750u);
    BOOST_TEST(make_directories(share.share + "/own", 0700).has_value());
    BOOST_TEST(share.mode("own") == 0700u);
    std::ofstream(share.share + "/file") << "text";
    BOOST_TEST(text_of(make_directories(share.share + "/file/d")).ends_with("Not a directory"));
    BOOST_TEST(text_of(make_directories(share.share + "/file")).ends_with("Not a directory"));
}

BOOST_AUTO_TEST_CASE(a_directory_that_only_its_owner_writes_to_is_not_opened_to_others) {
    const Share share;
    const Umask mask(077);
    share.give(0755);
    BOOST_TEST(make_shared_directories(share.share + "/a/b").has_value());
    BOOST_TEST(share.mode("a") == 0700u);
    BOOST_TEST(share.mode("a/b") == 0700u);
}

BOOST_AUTO_TEST_CASE(the_umask_is_the_same_afterwards) {
    const Share share;
    share.give(01777);
    const Umask mask(027);
    BOOST_TEST(make_shared_directories(share.share + "/a").has_value());
    const Umask now(0);
    BOOST_TEST(::umask(0) == 0u);
    BOOST_TEST(share.mode("a") == 01777u);
}

BOOST_AUTO_TEST_SUITE(of_several_users, *boost::unit_test::precondition(as_root))

BOOST_FIXTURE_TEST_CASE(the_first_user_does_not_lock_others_out, Share) {
    for (const mode_t mode : {01777U, 0777U, 01733U, 03777U}) {
        for (const mode_t mask : {0U, 022U, 077U}) {
            give(mode);
            BOOST_TEST(shares(kAlice, mask, share + "/a/b"));
            BOOST_TEST(shares(kMallory, mask, share + "/a/b/c"));
            for (const char* name : {"a", "a/b", "a/b/c"})
                BOOST_TEST(this->mode(name) == mode, name);
            fs::remove_all(share + "/a");
        }
    }
}

BOOST_FIXTURE_TEST_CASE(a_share_of_a_group_stays_the_groups_with_and_without_the_setgid_bit,
                        Share) {
    for (const mode_t mode : {02775U, 0775U, 0770U, 03770U}) {
        for (const mode_t mask : {002U, 022U, 077U}) {
            give(mode, kTeam);
            BOOST_TEST(shares(kAlice, mask, share + "/a/b"));
            BOOST_TEST(shares(kBob, mask, share + "/a/b/c"));
            for (const char* name : {"a", "a/b", "a/b/c"}) {
                BOOST_TEST(this->mode(name) == mode, name);
                BOOST_TEST(status(name).st_gid == kTeam, name);
            }
            fs::remove_all(share + "/a");
        }
    }
}

BOOST_FIXTURE_TEST_CASE(a_users_own_group_gets_nothing_that_the_shares_group_has, Share) {
    // Mallory is not in the team and can write to the share as its owner only.
    give(0770, kTeam);
    BOOST_REQUIRE(::chown(share.c_str(), kMallory.uid, kTeam) == 0);
    BOOST_TEST(shares(kMallory, 002, share + "/a"));
    BOOST_TEST(mode("a") == 0700u);
    BOOST_TEST(status("a").st_gid == kMallory.uid);
}

BOOST_FIXTURE_TEST_CASE(a_directory_that_was_there_is_not_changed, Share) {
    give(01777);
    BOOST_TEST(as(kAlice, 022, [&] { return text_of(make_directories(share + "/a")); }));
    BOOST_TEST(shares(kAlice, 022, share + "/a/b"));
    BOOST_TEST(mode("a") == 0755u);
    BOOST_TEST(mode("a/b") == 0755u);
}

BOOST_FIXTURE_TEST_CASE(a_closed_directory_is_named_with_its_owner_and_the_remedy, Share) {
    give(01777);
    const std::string deepest = share + "/a/b";
    BOOST_TEST(as(kAlice, 022, [&] { return text_of(make_directories(deepest)); }));
    const std::string alice = passwd_name(kAlice.uid);
    const std::string line =
        deepest + ": belongs to " + alice + ", and you may not make directories in it: ask " +
        alice + " to run 'chmod --reference=" + share + " " + share + "/a " + deepest + "'";
    BOOST_TEST(fails(kBob, line, [&] { return make_shared_directories(deepest + "/c/d"); }));
    BOOST_TEST(fails(kBob, line, [&] { return make_directories(deepest + "/c/d"); }));
    BOOST_TEST(fails(kBob, line, [&] { return check_writable(share, deepest + "/c/d"); }));
    BOOST_TEST(fails(kAlice, "", [&] { return check_writable(share, deepest + "/c/d"); }));
    BOOST_TEST(fails(kBob, "", [&] { return check_writable(share, share + "/other/d"); }));
    BOOST_TEST(fails(kBob, "", [&] { return check_writable(share + "/x", share + "/x/d"); }));
    // One that cannot even be entered.
    BOOST_REQUIRE(::chmod((share + "/a").c_str(), 0700) == 0);
    BOOST_TEST(fails(kBob,
                     share + "/a: belongs to " + alice +
                         ", and you may not make directories in it: ask " + alice +
                         " to run 'chmod --reference=" + share + " " + share + "/a'",
                     [&] { return check_writable(share, deepest + "/c/d"); }));
    give(0775, kTeam);
    BOOST_TEST(fails(kBob,
                     share + "/a: belongs to " + alice +
                         ", and you may not make directories in it: ask " + alice +
                         " to run 'chgrp --reference=" + share + " " + share +
                         "/a && chmod --reference=" + share + " " + share + "/a'",
                     [&] { return check_writable(share, deepest + "/c/d"); }));
    give(0755);
    BOOST_TEST(fails(kBob,
                     share + ": belongs to root, and you may not make directories in it: use "
                             "another directory",
                     [&] { return make_shared_directories(share + "/c"); }));
}

BOOST_FIXTURE_TEST_CASE(another_users_symbolic_link_is_not_followed, Share) {
    give(01777);
    const std::string target = path + "/target";
    BOOST_REQUIRE(::mkdir(target.c_str(), 0700) == 0);
    BOOST_REQUIRE(::chown(target.c_str(), kAlice.uid, kAlice.uid) == 0);
    fs::create_symlink(target, share + "/a");
    BOOST_REQUIRE(::lchown((share + "/a").c_str(), kMallory.uid, kMallory.uid) == 0);
    BOOST_TEST(fails(kAlice,
                     share +
                         "/a: is not followed: it is a symbolic link of user 2003. Name the place "
                         "that you mean, or ask user 2003 to remove the link",
                     [&] { return make_shared_directories(share + "/a/b"); }));
    BOOST_TEST(!as(kAlice, 022, [&] { return text_of(make_directories(share + "/a/b")); }));
    BOOST_TEST(fs::is_empty(target));
    give(0777);  // also in a group's directory, which has no sticky bit
    BOOST_TEST(!shares(kAlice, 022, share + "/a/b"));
    BOOST_TEST(fs::is_empty(target));
    give(01777);
    // The admin's link may lead to more space.
    BOOST_REQUIRE(::lchown((share + "/a").c_str(), 0, 0) == 0);
    BOOST_REQUIRE(::chmod(target.c_str(), 01777) == 0);
    BOOST_TEST(shares(kAlice, 077, share + "/a/b"));
    BOOST_TEST(mode("a/b") == 01777u);
}

BOOST_FIXTURE_TEST_CASE(a_directory_for_the_user_alone_is_not_one_that_another_user_has_made,
                        Share) {
    give(01777);
    BOOST_TEST(as(kMallory, 0, [&] { return text_of(make_directories(share + "/batchai")); }));
    const std::string line = share +
                             "/batchai: is not written to: it belongs to user 2003. Name another "
                             "place, or ask user 2003 to remove it";
    BOOST_TEST(fails(kAlice, line, [&] { return make_directories(share + "/batchai", 0700); }));
    BOOST_TEST(fails(kAlice, "", [&] { return make_directories(share + "/batchai"); }));
    BOOST_TEST(fails(kAlice, "", [&] { return make_directories(share + "/own", 0700); }));
    BOOST_TEST(fails(kAlice, "", [&] { return make_directories(share + "/own", 0700); }));
    // A server that shows one owner for all.
    BOOST_REQUIRE(::chown(share.c_str(), kMallory.uid, kMallory.uid) == 0);
    BOOST_TEST(fails(kAlice, "", [&] { return make_directories(share + "/batchai", 0700); }));
}

BOOST_FIXTURE_TEST_CASE(two_first_users_do_not_lock_each_other_out, Share) {
    const int rounds = std::getenv("BATCHAI_SOAK") != nullptr ? 500 : 20;
    for (const mode_t mode : {01777U, 0775U}) {
        give(mode, kTeam);
        for (int i = 0; i < rounds; ++i) {
            const std::string top = share + "/" + std::to_string(i);
            int gate[2];
            BOOST_REQUIRE(::pipe(gate) == 0);
            std::vector<pid_t> users;
            for (const User& user : {kAlice, kBob})
                users.push_back(start_as(user, 077, [&] {
                    ::close(gate[1]);
                    char go = 0;
                    (void)!::read(gate[0], &go, 1);  // until all are closed
                    const std::string own = top + "/a/b/c/" + std::to_string(user.uid);
                    return text_of(make_shared_directories(own));
                }));
            ::close(gate[0]);
            ::close(gate[1]);
            for (const pid_t user : users) BOOST_TEST(wait_for(user) == 0);
        }
    }
}

BOOST_FIXTURE_TEST_CASE(a_default_acl_is_kept_and_an_acl_that_is_not_inherited_opens_nothing,
                        Share) {
    // POSIX ACL, version 2: user::rwx user:2003:rwx group::--- mask::rwx other::---.
    struct Entry {
        std::uint16_t tag, rights;
        std::uint32_t id;
    };
    struct {
        std::uint32_t version = 2;
        Entry entries[5] = {{1, 7, ~0U}, {2, 7, 2003}, {4, 0, ~0U}, {16, 7, ~0U}, {32, 0, ~0U}};
    } acl;
    give(0770, kTeam);
    if (::setxattr(share.c_str(), "system.posix_acl_access", &acl, sizeof acl, 0) != 0) {
        BOOST_TEST_MESSAGE("skipped: no ACLs here");
        return;
    }
    BOOST_TEST(shares(kMallory, 022, share + "/a"));
    BOOST_TEST(mode("a") == 0700u);
    fs::remove_all(share + "/a");
    BOOST_REQUIRE(::setxattr(share.c_str(), "system.posix_acl_default", &acl, sizeof acl, 0) == 0);
    BOOST_REQUIRE(::chown(share.c_str(), kAlice.uid, kTeam) == 0);
    BOOST_TEST(shares(kAlice, 077, share + "/a"));
    BOOST_TEST(shares(kMallory, 077, share + "/a/b"));
    BOOST_TEST(mode("a/b") == 0770u);
    BOOST_TEST(!as(kBob, 0, [&] { return text_of(make_directories(share + "/a/c")); }));
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()
