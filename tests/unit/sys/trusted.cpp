// SPDX-License-Identifier: Apache-2.0
#include "sys/trusted.hpp"

#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "as_root.hpp"

using namespace batchai::sys;
namespace fs = std::filesystem;

namespace {

// In a directory of root's, whose own are root's too.
struct Trusted {
    Trusted() : path("/run/batchai-test.XXXXXX") {
        BOOST_REQUIRE(::mkdtemp(path.data()) != nullptr);
        fs::create_directories(path + "/a/b");
        std::ofstream(path + "/a/b/file") << "text";
    }
    ~Trusted() { fs::remove_all(path); }

    // The complaint about a path below; empty: none.
    std::string wrong(const std::string& name, TrustedOpen how = {}) const {
        const auto opened = open_trusted(path + "/" + name, how);
        return opened ? "" : opened.error().message;
    }
    void give(const std::string& name, mode_t mode, uid_t owner = 0) const {
        BOOST_TEST(::lchown((path + "/" + name).c_str(), owner, 0) == 0);
        if (mode != 0) BOOST_TEST(::chmod((path + "/" + name).c_str(), mode) == 0);
    }
    void link(const std::string& target, const std::string& name) const {
        fs::create_symlink(target, path + "/" + name);
    }

    std::string path;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(trusted, *boost::unit_test::precondition(as_root))

BOOST_FIXTURE_TEST_CASE(a_file_below_directories_of_roots_is_opened, Trusted) {
    const auto file = open_trusted(path + "/a//b/./file", {.flags = O_RDONLY});
    BOOST_REQUIRE(file);
    char text[8] = {};
    BOOST_TEST(::read(file->get(), text, sizeof text) == 4);
    BOOST_TEST(::fcntl(file->get(), F_GETFD) == FD_CLOEXEC);
    BOOST_TEST(open_trusted("/").has_value());
    BOOST_TEST(wrong("a/c") == path + "/a/c: No such file or directory");
    BOOST_TEST(wrong("a/b/file/c") == path + "/a/b/file/c: Not a directory");
    BOOST_TEST(wrong("a/b/file", {.flags = O_PATH | O_DIRECTORY}).ends_with("Not a directory"));
    BOOST_TEST(open_trusted("a").error().message == "a: must be an absolute path");
}

BOOST_FIXTURE_TEST_CASE(no_component_may_be_changed_by_others, Trusted) {
    const std::string others = ": others can write to it: chmod go-w";
    const std::string owner = ": belongs to another user than root: chown root";
    for (const char* name : {"a", "a/b", "a/b/file"}) {
        for (const mode_t mode : {0777U, 01777U, 0775U}) {
            give(name, mode);
            BOOST_TEST(wrong("a/b/file").starts_with(path + "/" + name + others));
        }
        give(name, 0755, 2001);
        BOOST_TEST(wrong("a/b/file") == path + "/" + name + owner);
        BOOST_TEST(wrong("a/b/file", {.checks = false}) == "");
        give(name, 0755);
    }
    BOOST_TEST(wrong("a/b/file") == "");
}

BOOST_FIXTURE_TEST_CASE(a_link_is_followed_only_where_root_has_laid_it, Trusted) {
    link("a/b", "relative");
    link(path + "/relative/../b/file", "absolute");
    BOOST_TEST(wrong("absolute", {.flags = O_RDONLY}) == "");
    BOOST_TEST(wrong("absolute", {.makes = true}) ==
               path + "/absolute: is a symbolic link: name the directory itself");
    give("relative", 0, 2001);
    BOOST_TEST(wrong("absolute") ==
               path + "/relative: belongs to another user than root: chown root");
    give("relative", 0);
    give("a", 0757);  // what a link leads to is as important
    BOOST_TEST(wrong("absolute").starts_with(path + "/a: others can write to it"));
    link("loop", "loop");
    BOOST_TEST(wrong("loop").ends_with("Too many levels of symbolic links"));
}

BOOST_FIXTURE_TEST_CASE(a_missing_directory_is_made_on_request, Trusted) {
    BOOST_TEST(wrong("made/deep", {.flags = O_PATH | O_DIRECTORY, .makes = true}) == "");
    BOOST_TEST(fs::is_directory(path + "/made/deep"));
    give("made", 0777);
    BOOST_TEST(wrong("made/other", {.makes = true}) != "");
    BOOST_TEST(!fs::exists(path + "/made/other"));
}

BOOST_AUTO_TEST_SUITE_END()
