// SPDX-License-Identifier: Apache-2.0
#include "sys/user_path.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "as_root.hpp"
#include "tests/unit/temporary_directory.hpp"

using namespace batchai::sys;
namespace fs = std::filesystem;

namespace {

constexpr uid_t kMallory = 12345;
constexpr uid_t kOwner = 12346;  // of a project's directory
constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;

// A private directory of the user's, and one that others can write to.
struct Places : batchai::test::TemporaryDirectory {
    Places() : home(*this / "home"), project(*this / "project") {
        fs::create_directory(home);
        fs::create_directory(project);
        write(home + "/diary", "dear diary");
    }
    static void write(const std::string& file, const std::string& text) {
        std::ofstream(file) << text;
    }
    static std::string read(const std::string& file) {
        std::ifstream in(file);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    static void give(const std::string& name, uid_t owner) {
        BOOST_REQUIRE(::lchown(name.c_str(), owner, owner) == 0);
    }
    // A link in the project's directory.
    std::string link(const std::string& target, const std::string& name, uid_t owner) const {
        fs::create_symlink(target, project + "/" + name);
        give(project + "/" + name, owner);
        return project + "/" + name;
    }
    // The error of opening a file; empty: none.
    static std::string wrong(const std::string& file, int flags = kWrite) {
        const auto opened = open_user_file(file, flags);
        return opened ? "" : opened.error().message;
    }
    std::string home, project;
};

std::string not_followed(const std::string& link) {
    return link +
           ": is not followed: it is a symbolic link of user 12345. Name the place that you mean, "
           "or ask user 12345 to remove the link";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(user_path)

BOOST_FIXTURE_TEST_CASE(a_link_of_the_users_own_is_followed_to_its_end, Places) {
    fs::create_symlink("home", path() + "/relative");
    fs::create_symlink(path() + "/relative/../relative/diary", project + "/absolute");
    BOOST_TEST(wrong(project + "/absolute", O_RDONLY) == "");
    BOOST_TEST(wrong(project + "//./absolute") == "");
    BOOST_TEST(read(home + "/diary") == "");
    fs::create_symlink(home + "/new", project + "/dangling");
    BOOST_TEST(wrong(project + "/dangling", O_RDONLY) == home + "/new: No such file or directory");
    BOOST_TEST(wrong(project + "/dangling") == "");
    BOOST_TEST(fs::exists(home + "/new"));
    fs::create_symlink("loop", project + "/loop");
    BOOST_TEST(wrong(project + "/loop") == project + "/loop: Too many levels of symbolic links");
    BOOST_TEST(open_user_directory(path() + "/relative/").has_value());
    BOOST_TEST(!open_user_directory(project + "/absolute"));
}

BOOST_FIXTURE_TEST_CASE(a_path_may_be_relative_and_lead_up, Places) {
    const std::string before = fs::current_path();
    fs::current_path(project);
    BOOST_TEST(wrong("../home/diary", O_RDONLY) == "");
    BOOST_TEST(wrong("new") == "");
    BOOST_TEST(fs::exists(project + "/new"));
    BOOST_TEST(open_user_directory("..").has_value());
    BOOST_TEST(open_user_directory("/").has_value());
    BOOST_TEST(wrong("none/new") == "none: No such file or directory");
    BOOST_TEST(wrong("") == "empty path: No such file or directory");
    fs::current_path(before);
}

BOOST_FIXTURE_TEST_CASE(what_is_not_a_file_is_refused_at_once, Places) {
    const std::string fifo = project + "/fifo";
    BOOST_REQUIRE(::mkfifo(fifo.c_str(), 0666) == 0);
    for (const int flags : {kWrite, O_RDONLY, O_WRONLY | O_APPEND, O_RDWR}) {
        BOOST_TEST(wrong(fifo, flags) == fifo + ": not a regular file");
        BOOST_TEST(wrong(project, flags) == project + ": not a regular file");
        BOOST_TEST(wrong("/dev/null", flags) == "/dev/null: not a regular file");
    }
    BOOST_TEST(open_user_file("/dev/null", O_WRONLY, 0, FileKind::output).has_value());
    BOOST_TEST(!open_user_file(fifo, O_WRONLY, 0, FileKind::output));
    const UniqueFd reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK));
    BOOST_TEST(open_user_file(fifo, O_WRONLY, 0, FileKind::output).has_value());
    BOOST_TEST(wrong(fifo) == fifo + ": not a regular file");
}

BOOST_FIXTURE_TEST_CASE(a_path_stays_below_its_top, Places) {
    fs::create_symlink("../home", project + "/up");
    fs::create_symlink(home, project + "/out");
    fs::create_directory(project + "/sub");
    fs::create_symlink("../sub", project + "/sub/in");
    const UniqueFd top(::open(project.c_str(), O_PATH));
    PathWalk how{.check = check_link};
    how.top = top.get();
    BOOST_TEST(walk("/sub/in/file", how)->path == "sub/file");
    for (const char* outside : {"up/diary", "out/diary", "..", "sub/../../home"}) {
        const auto place = walk(outside, how);
        BOOST_REQUIRE(!place);
        BOOST_TEST(place.error().message.ends_with("Invalid cross-device link"));
    }
}

BOOST_AUTO_TEST_SUITE(of_another_user, *boost::unit_test::precondition(as_root))

BOOST_FIXTURE_TEST_CASE(a_link_leads_nowhere, Places) {
    const std::string file = link(home + "/diary", "file", kMallory);
    const std::string directory = link(home, "directory", kMallory);
    for (const int flags : {kWrite, O_RDONLY, O_WRONLY | O_APPEND}) {
        BOOST_TEST(wrong(file, flags) == not_followed(file));
        BOOST_TEST(wrong(directory + "/diary", flags) == not_followed(directory));
    }
    BOOST_TEST(wrong(directory + "/new") == not_followed(directory));
    BOOST_TEST(!open_user_directory(directory + "/"));
    BOOST_TEST(!fs::exists(home + "/new"));
    BOOST_TEST(read(home + "/diary") == "dear diary");
    // Not by a link of the user's own either.
    fs::create_symlink("project/directory/diary", path() + "/own");
    BOOST_TEST(wrong(path() + "/own") == not_followed(directory));
    // Not even by the owner of the directory.
    give(project, kMallory);
    BOOST_TEST(wrong(file) == not_followed(file));
    BOOST_TEST(read(home + "/diary") == "dear diary");
}

BOOST_FIXTURE_TEST_CASE(a_fifo_gets_no_output, Places) {
    const std::string fifo = project + "/fifo";
    BOOST_REQUIRE(::mkfifo(fifo.c_str(), 0666) == 0);
    give(fifo, kMallory);
    const UniqueFd reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK));
    BOOST_TEST(!open_user_file(fifo, O_WRONLY, 0, FileKind::output));
}

BOOST_FIXTURE_TEST_CASE(a_file_is_neither_emptied_nor_written_to, Places) {
    const std::string file = project + "/timeline.json";
    write(file, "theirs");
    BOOST_REQUIRE(::chmod(file.c_str(), 0666) == 0);
    give(file, kMallory);
    give(project, kOwner);
    const std::string why = file +
                            ": is not written to: it belongs to user 12345. Name another place, or "
                            "ask user 12345 to remove it";
    BOOST_TEST(wrong(file) == why);
    BOOST_TEST(wrong(file, O_WRONLY | O_APPEND) == why);
    BOOST_TEST(read(file) == "theirs");
    BOOST_TEST(wrong(file, O_RDONLY) == "");
    // The directory's owner decides what is in it: a server may show one owner for all files.
    give(project, kMallory);
    BOOST_TEST(wrong(file, O_WRONLY | O_APPEND) == "");
    BOOST_TEST(wrong(file) == "");
    BOOST_TEST(read(file) == "");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()
