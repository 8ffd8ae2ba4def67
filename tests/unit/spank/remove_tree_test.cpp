// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/user/remove_tree.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "id_maps.hpp"
#include "spank/helper/root/child.hpp"
#include "sys/unique_fd.hpp"
#include "tests/unit/temporary_directory.hpp"

using namespace batchai;
using spank::remove_tree;

namespace {

struct Tree {
    Tree() { std::filesystem::create_directory(top); }
    bool remove() const { return remove_tree(top); }
    bool is_there() const { return std::filesystem::exists(top); }

    test::TemporaryDirectory directory;
    std::string top = directory / "top";
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(remove_tree_suite, Tree)

BOOST_AUTO_TEST_CASE(files_and_directories_go) {
    std::filesystem::create_directories(top + "/a/b/c");
    std::filesystem::create_directories(top + "/a/.batchai.0/.batchai.1");
    for (const auto* file : {"top/f", "top/a/f", "top/a/b/c/f", "top/a/.batchai.0/f"})
        directory.write(file, "");
    BOOST_TEST(remove());
    BOOST_TEST(!is_there());
    BOOST_TEST(remove());
}

BOOST_AUTO_TEST_CASE(a_tree_deeper_than_any_path_goes) {
    const std::string name(200, 'd');
    sys::UniqueFd at(open(top.c_str(), O_RDONLY | O_DIRECTORY));
    for (std::size_t depth = 0; depth <= PATH_MAX / name.size(); ++depth) {
        BOOST_REQUIRE(mkdirat(at.get(), name.c_str(), 0700) == 0);
        at.reset(openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY));
    }
    BOOST_TEST(remove());
    BOOST_TEST(!is_there());
}

BOOST_AUTO_TEST_CASE(a_symbolic_link_is_removed_and_not_followed) {
    std::filesystem::create_directories(directory / "outside/d");
    directory.write("outside/file", "");
    std::filesystem::create_directory(top + "/d");
    for (const auto* link : {"/link", "/d/link"})
        std::filesystem::create_symlink(directory / "outside", top + link);
    BOOST_TEST(remove());
    BOOST_TEST(std::filesystem::exists(directory / "outside/file"));
    BOOST_TEST(std::filesystem::exists(directory / "outside/d"));
}

BOOST_AUTO_TEST_CASE(a_symbolic_link_in_its_place_is_removed_and_not_followed) {
    std::filesystem::create_directory(directory / "outside");
    directory.write("outside/file", "");
    std::filesystem::remove(top);
    std::filesystem::create_symlink(directory / "outside", top);
    BOOST_TEST(remove());
    BOOST_TEST(!std::filesystem::is_symlink(top));
    BOOST_TEST(std::filesystem::exists(directory / "outside/file"));
}

// Another user's directory that was moved here, with what its owner has made unreadable in it.
BOOST_AUTO_TEST_CASE(a_file_that_the_user_may_not_remove_stays,
                     *boost::unit_test::precondition([](auto) { return geteuid() == 0; })) {
    constexpr uid_t kUser = 1000;
    constexpr uid_t kOther = 1001;
    std::filesystem::create_directories(top + "/a/theirs/private");
    directory.write("top/a/theirs/private/data", "");
    directory.write("top/a/mine", "");
    for (const auto* path : {"", "/a", "/a/mine"})
        BOOST_TEST(chown((top + path).c_str(), kUser, kUser) == 0);
    for (const auto* path : {"/a/theirs", "/a/theirs/private", "/a/theirs/private/data"})
        BOOST_TEST(chown((top + path).c_str(), kOther, kOther) == 0);
    chmod((top + "/a/theirs").c_str(), 0777);
    chmod((top + "/a/theirs/private").c_str(), 0700);
    chmod((directory / "").c_str(), 0777);
    const auto done =
        spank::as_user({kUser, kUser, {}}, 20, [this]() -> sys::Result<spank::Answer> {
            return spank::Answer{remove() ? "gone" : "left", {}};
        });
    BOOST_TEST(done->text == "left");
    BOOST_TEST(!std::filesystem::exists(top + "/a/mine"));
    std::size_t found = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(top))
        found += entry.path().filename() == "data" ? 1 : 0;
    BOOST_TEST(found == 1);
}

// What a rootless container has left. The namespace of the user's subordinate ids gives no rights
// to other ids.
BOOST_AUTO_TEST_CASE(files_of_the_users_subordinate_ids_go_and_no_others,
                     *boost::unit_test::precondition(test::can_map_ids)) {
    constexpr uid_t kUser = 1000;
    constexpr uid_t kSubordinate = 100000;
    const auto outcome = [this](uid_t owner) {
        std::filesystem::create_directories(top + "/a/layer/usr");
        directory.write("top/a/layer/usr/data", "");
        for (const auto* path : {"", "/a"}) BOOST_TEST(chown((top + path).c_str(), kUser, 7) == 0);
        for (const auto* path : {"/a/layer", "/a/layer/usr", "/a/layer/usr/data"})
            BOOST_TEST(chown((top + path).c_str(), owner, owner) == 0);
        chmod((top + "/a/layer").c_str(), 0500);
        chmod((top + "/a/layer/usr").c_str(), 0);
        chmod((directory / "").c_str(), 0777);
        const spank::IdMaps maps{"0 1000 1\n1 100000 65536\n", "0 7 1\n1 100000 65536\n"};
        const auto done =
            spank::as_user({kUser, 7, {}, true, maps}, 20, [this]() -> sys::Result<spank::Answer> {
                return spank::Answer{remove() ? "gone" : "left", {}};
            });
        return done ? done->text : done.error().message;
    };
    BOOST_TEST(outcome(kSubordinate) == "gone");
    for (const uid_t other : {0U, 1001U, kSubordinate + 65536}) {
        std::filesystem::create_directory(top);
        BOOST_TEST(outcome(other) == "left");
        std::filesystem::remove_all(top);
    }
}

BOOST_AUTO_TEST_CASE(directories_without_permissions_go,
                     *boost::unit_test::precondition([](auto) { return geteuid() == 0; })) {
    std::filesystem::create_directories(top + "/a/b/c");
    for (const auto* name : {"/a/b/c", "/a/b", "/a"}) chmod((top + name).c_str(), 0);
    BOOST_TEST(remove());
}

// In a namespace of its own, for a mount of ours must not stay.
BOOST_AUTO_TEST_CASE(a_mounted_directory_is_left_alone,
                     *boost::unit_test::precondition([](auto) { return geteuid() == 0; })) {
    const std::string outside = directory / "outside";
    std::filesystem::create_directory(outside);
    directory.write("outside/file", "");
    std::filesystem::create_directories(top + "/a/b/mount");
    const pid_t child = fork();
    if (child == 0) {
        const std::string at = top + "/a/b/mount";
        if (unshare(CLONE_NEWNS) != 0 ||
            mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            mount(outside.c_str(), at.c_str(), nullptr, MS_BIND, nullptr) != 0)
            _exit(77);
        _exit(remove() ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    BOOST_TEST((WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
    BOOST_TEST(std::filesystem::exists(outside + "/file"));
}

BOOST_AUTO_TEST_SUITE_END()
