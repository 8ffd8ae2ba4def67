// SPDX-License-Identifier: Apache-2.0
#include "sys/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>

#include "sys/private_file.hpp"
#include "tests/unit/printing.hpp"
#include "tests/unit/temporary_directory.hpp"

using namespace batchai::sys;
using batchai::test::TemporaryDirectory;

namespace {
std::size_t files_in(const std::string& path) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
}

mode_t mode_of(const std::string& path) {
    struct stat status {};
    BOOST_TEST(::stat(path.c_str(), &status) == 0);
    return status.st_mode & 07777;
}
}  // namespace

BOOST_AUTO_TEST_CASE(reads_a_file_of_at_most_the_limit) {
    const TemporaryDirectory directory;
    const std::string path = directory.path() + "/file";
    const std::string text(100'000, 'x');
    BOOST_TEST(write_file(path, text, 0600).has_value());
    BOOST_TEST(*read_file(path, text.size()) == text);
    BOOST_TEST(read_file(path, text.size() - 1).error().message ==
               path + ": is larger than 99999 bytes");
    BOOST_TEST(read_file(directory.path() + "/none", 1).error().message ==
               directory.path() + "/none: No such file or directory");
    BOOST_TEST(!read_file(directory.path(), 1));
}

BOOST_AUTO_TEST_CASE(the_tail_of_a_file_begins_with_a_line) {
    const TemporaryDirectory directory;
    const std::string path = directory.path() + "/log";
    const auto tail = [&](const std::string& text, std::size_t bytes) {
        BOOST_TEST(write_file(path, text, 0600).has_value());
        return tail_of(open_regular(path)->get(), bytes);
    };
    BOOST_TEST(tail("", 10) == "");
    BOOST_TEST(tail("one\ntwo\n", 8) == "one\ntwo\n");
    BOOST_TEST(tail("one\ntwo\n", 7) == "two\n");
    BOOST_TEST(tail("one\ntwo\n", 3) == "wo\n");
    BOOST_TEST(tail("one\ntwo", 2) == "wo");
}

BOOST_AUTO_TEST_CASE(replaces_a_file_at_once_and_leaves_nothing_beside_it) {
    const TemporaryDirectory directory;
    const std::string path = directory.path() + "/file";
    BOOST_TEST(write_file(path, "old and long", 0644).has_value());
    BOOST_TEST(write_file(path, "new", 0600).has_value());
    BOOST_TEST(*read_file(path, 100) == "new");
    BOOST_TEST(mode_of(path) == 0600u);
    BOOST_TEST(files_in(directory.path()) == 1u);
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_replaced_stays) {
    const TemporaryDirectory directory;
    const std::string path = directory.path() + "/file";
    std::filesystem::create_directory(path);
    BOOST_TEST(write_file(path, "new", 0600).error().message == path + ": rename: Is a directory");
    BOOST_TEST(files_in(directory.path()) == 1u);
    BOOST_TEST(!write_file(directory.path() + "/none/file", "new", 0600));
    BOOST_TEST(write_file("/dev/full/x", "new", 0600).error().message ==
               "/dev/full: Not a directory");
}

BOOST_AUTO_TEST_CASE(appends_to_a_file) {
    const TemporaryDirectory directory;
    const std::string path = directory.path() + "/log";
    BOOST_TEST(append_file(path, "one\n", 0640).has_value());
    BOOST_TEST(append_file(path, "two\n", 0600).has_value());
    BOOST_TEST(*read_file(path, 100) == "one\ntwo\n");
    const mode_t mask = ::umask(022);
    ::umask(mask);
    BOOST_TEST(mode_of(path) == (0640u & ~mask));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_not_regular_is_refused_without_a_wait) {
    const TemporaryDirectory directory;
    const std::string fifo = directory.path() + "/fifo";
    BOOST_REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    const std::string why = fifo + ": not a regular file";
    BOOST_TEST(read_file(fifo, 1).error().message == why);
    BOOST_TEST(append_file(fifo, "x", 0600).error().message == why);
    const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
    BOOST_TEST(append_file(fifo, "x", 0600).error().message == why);
    ::close(reader);
    BOOST_TEST(append_file("/dev/full", "x", 0600).error().message ==
               "/dev/full: not a regular file");
    BOOST_TEST(read_file("/dev/zero", 1).error().message == "/dev/zero: not a regular file");
}

BOOST_AUTO_TEST_CASE(a_secret_that_no_variable_can_have_is_refused) {
    BOOST_TEST(*secret_of("a\nb\r\n\n", "it") == "a\nb");
    for (const std::string& text : {std::string(), std::string("\r\n"), std::string("a\0b", 3)}) {
        const auto secret = secret_of(text, "it");
        BOOST_REQUIRE(!secret);
        BOOST_TEST(secret.error().message == "it: empty, or contains a null byte");
    }
}
