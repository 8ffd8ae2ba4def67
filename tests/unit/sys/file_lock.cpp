// SPDX-License-Identifier: Apache-2.0
#include "sys/file_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>

#include "sys/file.hpp"
#include "sys/pipe.hpp"
#include "tests/unit/printing.hpp"
#include "tests/unit/temporary_directory.hpp"

using namespace batchai::sys;
using batchai::test::TemporaryDirectory;

namespace {

// Another process, which takes the lock of a file and holds it until its end.
class Holder {
  public:
    explicit Holder(const std::string& path) {
        auto ready = make_pipe().value();
        pid_ = ::fork();
        if (pid_ == 0) {
            const auto lock = FileLock::take(path);
            (void)!::write(ready.write.get(), lock ? "y" : "n", 1);
            for (;;) ::pause();
        }
        char answer = 0;
        BOOST_REQUIRE(::read(ready.read.get(), &answer, 1) == 1);
        BOOST_REQUIRE(answer == 'y');
    }
    ~Holder() { kill(); }
    void kill() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

  private:
    pid_t pid_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_file_lock_is_seen_by_another_process_until_its_owner_ends) {
    const TemporaryDirectory directory;
    BOOST_TEST(!*FileLock::is_held(directory / "file"));  // no file
    Holder holder(directory / "file");
    BOOST_TEST(*FileLock::is_held(directory / "file"));
    holder.kill();
    BOOST_TEST(!*FileLock::is_held(directory / "file"));
    BOOST_TEST(FileLock::take(directory / "file").has_value());
}

BOOST_AUTO_TEST_CASE(a_file_lock_is_waited_for) {
    const TemporaryDirectory directory;
    Holder holder(directory / "file");
    const pid_t waiter = ::fork();
    if (waiter == 0) ::_exit(FileLock::take(directory / "file") ? 0 : 1);
    int status = 0;
    ::usleep(50'000);
    BOOST_TEST(::waitpid(waiter, &status, WNOHANG) == 0);
    holder.kill();
    BOOST_TEST(::waitpid(waiter, &status, 0) == waiter);
    BOOST_TEST(status == 0);
}

// What flock(2) takes on a local file system, and EBADF is all that an NFS client says to.
BOOST_AUTO_TEST_CASE(a_file_that_may_only_be_read_cannot_be_locked) {
    const TemporaryDirectory directory;
    BOOST_REQUIRE(write_file(directory / "file", "text", 0400));
    const UniqueFd reader(::open((directory / "file").c_str(), O_RDONLY | O_CLOEXEC));
    BOOST_TEST(check_locks(reader.get(), "file").error().message ==
               "locking file: Bad file descriptor");
    BOOST_TEST(!*FileLock::is_held(directory / "file"));
}

BOOST_AUTO_TEST_CASE(a_file_lock_leaves_the_files_text_and_makes_it_for_its_owner_alone) {
    const TemporaryDirectory directory;
    const mode_t umask = ::umask(0);
    BOOST_REQUIRE(FileLock::take(directory / "file"));
    ::umask(umask);
    struct stat status {};
    BOOST_REQUIRE(::stat((directory / "file").c_str(), &status) == 0);
    BOOST_TEST((status.st_mode & 07777) == 0600);
    BOOST_REQUIRE(write_file(directory / "file", "text", 0600));
    BOOST_REQUIRE(FileLock::take(directory / "file"));
    BOOST_TEST(*read_file(directory / "file", 10) == "text");
}

BOOST_AUTO_TEST_CASE(only_a_regular_file_is_locked) {
    const TemporaryDirectory directory;
    BOOST_TEST(!FileLock::take(directory.path()));
    BOOST_REQUIRE(::mkfifo((directory / "file").c_str(), 0600) == 0);
    BOOST_TEST(!FileLock::take(directory / "file"));
    BOOST_TEST(!FileLock::is_held(directory / "file"));
}

BOOST_AUTO_TEST_CASE(locks_of_a_file_can_be_tried_while_another_process_holds_its_lock) {
    const TemporaryDirectory directory;
    const Holder holder(directory / "file");
    const UniqueFd file(::open((directory / "file").c_str(), O_RDWR | O_CLOEXEC));
    BOOST_TEST(check_locks(file.get(), "file").has_value());
}
