// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/spawn.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(spawning)

namespace {

SpawnRequest request(std::vector<std::string> argv) {
    SpawnRequest made;
    made.argv = std::move(argv);
    made.environment = {{"PATH", "/usr/bin:/bin"}, {"MARK", "yes"}};
    made.directory = "/";
    return made;
}

// Runs it; its standard output, or the failure's code and message.
std::string run(const SpawnRequest& what) {
    Spawned spawned;
    const SpawnFailure failure = spawn(what, spawned);
    if (failure.code != 0) return std::to_string(failure.code) + " " + failure.message;
    int status = 0;
    ::waitpid(spawned.pid, &status, 0);
    char bytes[4096];
    const ssize_t size = ::read(spawned.output.get(), bytes, sizeof bytes);
    return {bytes, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

struct Folder {
    std::filesystem::path path;
    Folder() {
        char pattern[] = "/tmp/batchai-test-XXXXXX";
        path = ::mkdtemp(pattern);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string file(const std::string& name, const std::string& text, mode_t mode) const {
        std::ofstream(path / name) << text;
        ::chmod((path / name).c_str(), mode);
        return path / name;
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_rank_has_its_environment_directory_and_own_process_group) {
    BOOST_TEST(
        run(request({"sh", "-c", "echo $MARK; pwd; [ $(ps -o pgid= $$) = $$ ] && echo own"})) ==
        "yes\n/\nown\n");
}

BOOST_AUTO_TEST_CASE(a_rank_inherits_one_descriptor_and_no_other) {
    const batchai::sys::UniqueFd kept(::fcntl(0, F_DUPFD_CLOEXEC, 50)),
        other(::fcntl(0, F_DUPFD, 60));
    const std::string which = std::to_string(kept.get()),
                      both = which + " " + std::to_string(other.get());
    auto list = request(
        {"sh", "-c", "for fd in " + both + "; do [ ! -e /proc/$$/fd/$fd ] || echo $fd; done"});
    BOOST_TEST(run(list).empty());
    list.inherited = kept.get();
    BOOST_TEST(run(list) == which + "\n");
}

BOOST_AUTO_TEST_CASE(commands_that_cannot_run_say_why) {
    const Folder folder;
    BOOST_TEST(run(request({"no-such-command"})) == "127 no-such-command: command not found");
    BOOST_TEST(run(request({"/no/such/file"})) == "127 /no/such/file: No such file or directory");
    BOOST_TEST(run(request({"/tmp"})) == "126 /tmp: Is a directory");
    BOOST_TEST(run(request({"/dev/null"})) == "126 /dev/null: Permission denied");
    const std::string plain = folder.file("plain", "text", 0644);
    BOOST_TEST(run(request({plain})) == "126 " + plain + ": Permission denied");
    auto elsewhere = request({"true"});
    elsewhere.directory = "/no/such/directory";
    BOOST_TEST(run(elsewhere) == "125 entering /no/such/directory: No such file or directory");
}

BOOST_AUTO_TEST_CASE(a_script_without_an_interpreter_line_runs_in_the_shell) {
    const Folder folder;
    BOOST_TEST(run(request({folder.file("script", "echo from $1\n", 0755), "here"})) ==
               "from here\n");
}

BOOST_AUTO_TEST_CASE(a_rank_is_bound_to_its_cpus) {
    auto bound = request({"taskset", "-cp", "0"});
    bound.argv = {"sh", "-c", "grep Cpus_allowed_list /proc/self/status | cut -f2"};
    bound.cpus = {0};
    BOOST_TEST(run(bound) == "0\n");
}

BOOST_AUTO_TEST_SUITE_END()
