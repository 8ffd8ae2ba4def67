// SPDX-License-Identifier: Apache-2.0
#include "cli/storage/share_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>

#include "tests/unit/temporary_directory.hpp"

namespace batchai::cli {
namespace {

struct ShareFixture {
    test::TemporaryDirectory local;
    test::TemporaryDirectory share;
    ShareFiles files = *ShareFiles::open(share.path());

    ShareFixture() { local.write("train.py", "print()\n"); }
    std::string upload(const std::string& path) {
        const auto done = files.upload(local / "train.py", path, {});
        return done ? *done : "error: " + done.error().message;
    }
};

bool is_refused(const std::string& text) {
    return text.find("must stay below the share") != std::string::npos;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(share_files, ShareFixture)

BOOST_AUTO_TEST_CASE(directories_are_made_once) {
    BOOST_TEST(*files.make_directory("cifar"));
    BOOST_TEST(!*files.make_directory("cifar/"));
    BOOST_TEST(*files.make_directory("cifar/logs"));
    BOOST_TEST(!files.make_directory("none/logs"));
    BOOST_TEST(!files.make_directory(""));
    BOOST_TEST(!files.make_directory("cifar/../../up"));
}

BOOST_AUTO_TEST_CASE(a_file_goes_into_a_directory_or_to_a_name) {
    BOOST_REQUIRE(files.make_directory("cifar"));
    BOOST_TEST(upload("") == "train.py");
    BOOST_TEST(upload("cifar") == "cifar/train.py");
    BOOST_TEST(upload("/cifar/other.py") == "cifar/other.py");
    BOOST_TEST(share.read("cifar/train.py") == "print()\n");
    BOOST_TEST(share.read("cifar/other.py") == "print()\n");
}

BOOST_AUTO_TEST_CASE(an_upload_replaces_and_leaves_nothing_else) {
    BOOST_TEST(upload("") == "train.py");
    local.write("train.py", "print(2)\n");
    BOOST_TEST(upload("") == "train.py");
    BOOST_TEST(share.read("train.py") == "print(2)\n");
    BOOST_TEST(files.list("")->size() == 1);
}

BOOST_AUTO_TEST_CASE(a_name_may_be_as_long_as_a_file_system_allows) {
    const std::string longest(255, 'n');
    BOOST_TEST(upload(longest) == longest);
    BOOST_TEST(*files.download(longest, local.path(), {}) == local / longest);
    BOOST_TEST(local.read(longest) == "print()\n");
}

BOOST_AUTO_TEST_CASE(nothing_leads_out_of_the_share) {
    BOOST_REQUIRE(::symlink(local.path().c_str(), (share / "out").c_str()) == 0);
    BOOST_REQUIRE(::symlink("..", (share / "up").c_str()) == 0);
    BOOST_TEST(is_refused(upload("../train.py")));
    BOOST_TEST(is_refused(upload("a/../../b")));
    BOOST_TEST(is_refused(upload("out/new.py")));
    BOOST_TEST(is_refused(upload("up/new.py")));
    BOOST_TEST(is_refused(files.download("out/train.py", local / "copy", {}).error().message));
    BOOST_TEST(is_refused(files.download("../etc/passwd", local / "copy", {}).error().message));
    BOOST_TEST(is_refused(files.list("out").error().message));
    BOOST_TEST(std::filesystem::exists(local / "new.py") == false);
}

BOOST_AUTO_TEST_CASE(a_copy_replaces_regular_files_only) {
    const auto refused = [](const auto& done) {
        return !done && done.error().message.find("not a regular file") != std::string::npos;
    };
    local.write("victim", "precious");
    BOOST_REQUIRE(::symlink((local / "victim").c_str(), (share / "link").c_str()) == 0);
    BOOST_TEST(refused(files.upload(local / "train.py", "link", {})));
    BOOST_TEST(local.read("victim") == "precious");
    share.write("model.h5", "weights");
    BOOST_REQUIRE(::mkfifo((local / "fifo").c_str(), 0600) == 0);
    BOOST_TEST(refused(files.download("model.h5", local / "fifo", {})));
    BOOST_TEST(std::filesystem::is_fifo(local / "fifo"));
    BOOST_TEST(refused(files.download("model.h5", "/dev/null", {})));
    BOOST_TEST(std::filesystem::is_character_file("/dev/null"));
}

BOOST_AUTO_TEST_CASE(a_fifo_is_not_waited_for) {
    BOOST_REQUIRE(::mkfifo((local / "fifo").c_str(), 0600) == 0);
    BOOST_REQUIRE(::mkfifo((share / "fifo").c_str(), 0600) == 0);
    BOOST_TEST(!files.upload(local / "fifo", "", {}));
    BOOST_TEST(!files.download("fifo", local / "copy", {}));
}

BOOST_AUTO_TEST_CASE(a_file_comes_back_into_a_directory_or_to_a_name) {
    share.write("model.h5", "weights");
    BOOST_TEST(*files.download("model.h5", local.path(), {}) == local / "model.h5");
    BOOST_TEST(local.read("model.h5") == "weights");
    BOOST_TEST(*files.download("model.h5", local / "renamed", {}) == local / "renamed");
    BOOST_TEST(local.read("renamed") == "weights");
    BOOST_TEST(!files.download("none", local.path(), {}));
    BOOST_TEST(!files.download("model.h5", local / "no/such/place", {}));
}

BOOST_AUTO_TEST_CASE(a_directory_is_not_copied) {
    BOOST_REQUIRE(files.make_directory("cifar"));
    BOOST_TEST(!files.download("cifar", local.path(), {}));
    BOOST_TEST(!files.upload(local.path(), "", {}));
    BOOST_TEST(files.list("")->size() == 1);
}

BOOST_AUTO_TEST_CASE(progress_ends_at_the_whole) {
    local.write("train.py", std::string(3'000'000, 'x'));
    std::int64_t last = 0;
    std::int64_t whole = 0;
    BOOST_REQUIRE(files.upload(local / "train.py", "", [&](std::int64_t done, std::int64_t total) {
        BOOST_TEST(done > last);
        last = done;
        whole = total;
    }));
    BOOST_TEST(last == 3'000'000);
    BOOST_TEST(whole == 3'000'000);
}

BOOST_AUTO_TEST_CASE(a_list_is_sorted_and_knows_directories) {
    BOOST_REQUIRE(files.make_directory("b"));
    share.write("c", "12345");
    share.write("a", "");
    const auto entries = *files.list("/");
    BOOST_REQUIRE(entries.size() == 3);
    BOOST_TEST(entries[0].name == "a");
    BOOST_TEST(entries[1].is_directory);
    BOOST_TEST(entries[2].size == 5);
}

BOOST_AUTO_TEST_CASE(a_share_that_is_not_there_is_an_error) {
    BOOST_TEST(!ShareFiles::open(share / "none"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli
