// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/sink.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include "sys/file.hpp"
#include "sys/text.hpp"
#include "tests/unit/printing.hpp"

using namespace batchai::launcher;
namespace sys = batchai::sys;

namespace {
bool fsync_fails = false;
}

// Of libuv, too: a file server that says only now that it has no room.
extern "C" __attribute__((visibility("default"))) int fsync(int fd) {
    if (!fsync_fails) return static_cast<int>(::syscall(SYS_fsync, fd));
    errno = EDQUOT;
    return -1;
}

BOOST_AUTO_TEST_SUITE(sink)

namespace {

struct Output {
    Loop loop;
    std::vector<Sink::Failure> failures;
    std::optional<Sink> sink;
    int loops = 0;  // of libuv's
    uv_prepare_t counter{};

    explicit Output(Sink::Target target) {
        sink.emplace(loop, std::move(target),
                     [this](const Sink::Failure& failure) { failures.push_back(failure); });
        uv_prepare_init(loop.get(), &counter);
        counter.data = &loops;
        uv_prepare_start(&counter,
                         [](uv_prepare_t* handle) { ++*static_cast<int*>(handle->data); });
        uv_unref(reinterpret_cast<uv_handle_t*>(&counter));
    }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;
    ~Output() {
        for (const Sink::Failure& failure : failures) {
            if (!failure.kept.empty()) ::unlink(failure.kept.c_str());
        }
        uv_close(reinterpret_cast<uv_handle_t*>(&counter), nullptr);
    }
    void write(const std::string& text) {
        sink->write(text, [] {});
        loop.run();
    }
};

const std::string kFull = "/dev/full";

sys::UniqueFd full() {
    return sys::UniqueFd(::open(kFull.c_str(), O_WRONLY | O_CLOEXEC));
}

std::string content(const std::string& file) {
    const auto text = sys::read_file(file, 1 << 20);
    return text ? *text : text.error().message;
}

struct Pipe {
    Pipe() {
        std::array<int, 2> ends{};
        BOOST_REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
        reader.reset(ends[0]);
        writer.reset(ends[1]);
    }
    sys::UniqueFd reader, writer;
};

}  // namespace

BOOST_AUTO_TEST_CASE(output_whose_file_has_a_long_name_is_not_lost) {
    const sys::UniqueFd fd = full();
    std::string name = "/share/" + std::string(255, 'd') + "/" + std::string(248, 'f') + "/rank.07";
    for (const char* last : {"", "/stdout", "x", "\xC3\xA4\xC3\xA4\xC3\xA4", "y"}) {
        name += last;
        Output output({fd.get(), name});
        output.write("text");
        BOOST_REQUIRE(output.failures.size() == 1U);
        const Sink::Failure& failure = output.failures.front();
        BOOST_TEST(failure.rest == Sink::Rest::kept);
        BOOST_TEST(content(failure.kept) == "text");
        BOOST_TEST(sys::printable(failure.kept) == failure.kept);
    }
}

BOOST_AUTO_TEST_CASE(characters_of_a_long_name_are_not_cut) {
    const sys::UniqueFd fd = full();
    std::string name;
    for (int i = 0; i < 60; ++i) name += "\xC3\xA4";
    for (const char* last : {"x", "y"}) {
        name += last;
        Output output({fd.get(), name});
        output.write("text");
        BOOST_REQUIRE(output.failures.size() == 1U);
        BOOST_TEST(sys::printable(output.failures.front().kept) == output.failures.front().kept);
    }
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_opened_again_loses_nothing) {
    Output output({-1, "logs/rank.0/stdout"});
    output.sink->give_up("Not a directory");
    output.write("text");
    BOOST_REQUIRE(output.failures.size() == 1U);
    BOOST_TEST(content(output.failures.front().kept) == "text");
    BOOST_TEST(describe(output.failures.front(), "n1") ==
               "logs/rank.0/stdout: Not a directory; the ranks' output goes on in n1:" +
                   output.failures.front().kept);
}

// No byte above it, until it goes out of scope.
struct FileLimit {
    explicit FileLimit(rlim_t size) {
        ::getrlimit(RLIMIT_FSIZE, &before);
        const rlimit less{size, before.rlim_max};
        ::signal(SIGXFSZ, SIG_IGN);
        ::setrlimit(RLIMIT_FSIZE, &less);
    }
    FileLimit(const FileLimit&) = delete;
    FileLimit& operator=(const FileLimit&) = delete;
    ~FileLimit() { ::setrlimit(RLIMIT_FSIZE, &before); }
    rlimit before{};
};

BOOST_AUTO_TEST_CASE(kept_output_returns_to_its_file_when_that_is_writable_again) {
    std::string name = "/tmp/batchai-test.XXXXXX";
    const sys::UniqueFd fd(::mkostemp(name.data(), O_CLOEXEC));
    Output output({fd.get(), name});
    output.write("a\n");
    {
        const FileLimit limit(2);
        output.write("b\n");
    }
    output.write("c\n");
    BOOST_REQUIRE(output.failures.size() == 1U);
    const std::string kept = output.failures.front().kept;
    output.sink->finish();
    output.loop.run();
    BOOST_TEST(output.sink->idle());
    BOOST_REQUIRE(output.failures.size() == 2U);
    BOOST_TEST(output.failures.back().rest == Sink::Rest::returned);
    BOOST_TEST(describe(output.failures.back(), "n1") ==
               name + ": can be written again: what was in n1:" + kept + " is in it now");
    BOOST_TEST(content(name) == "a\nb\nc\n");
    BOOST_TEST(!sys::is_regular_file(kept));
    ::unlink(name.c_str());
}

BOOST_AUTO_TEST_CASE(a_file_that_takes_only_a_part_of_what_was_kept_gets_none_of_it) {
    std::string name = "/tmp/batchai-test.XXXXXX";
    const sys::UniqueFd fd(::mkostemp(name.data(), O_CLOEXEC));
    Output output({fd.get(), name});
    output.write("a\n");
    std::optional<FileLimit> limit;
    limit.emplace(3);
    output.write("b\n");  // half of it: the rest is kept
    BOOST_REQUIRE(output.failures.size() == 1U);
    output.sink->finish();
    output.loop.run();
    BOOST_TEST(output.failures.size() == 1U);
    BOOST_TEST(content(name) == "a\nb");
    BOOST_TEST(content(output.failures.front().kept) == "\n");
    ::unlink(name.c_str());
}

BOOST_AUTO_TEST_CASE(output_that_cannot_be_synced_is_not_said_to_be_in_its_file) {
    std::string name = "/tmp/batchai-test.XXXXXX";
    const sys::UniqueFd fd(::mkostemp(name.data(), O_CLOEXEC));
    Output output({fd.get(), name});
    output.write("text");
    fsync_fails = true;
    output.sink->finish();
    output.loop.run();
    fsync_fails = false;
    BOOST_REQUIRE(output.failures.size() == 1U);
    BOOST_TEST(output.failures.front().rest == Sink::Rest::unsynced);
    BOOST_TEST(describe(output.failures.front(), "n1") ==
               name + ": disk quota exceeded; some of the ranks' output may not be in it");
    BOOST_TEST(output.sink->idle());
    ::unlink(name.c_str());
}

BOOST_AUTO_TEST_CASE(a_pipe_needs_no_sync) {
    Pipe pipe;
    Output output({pipe.writer.get(), "standard output"});
    output.write("text");
    output.sink->finish();
    output.loop.run();
    BOOST_TEST(output.failures.empty());
    BOOST_TEST(output.sink->idle());
}

BOOST_AUTO_TEST_CASE(a_reader_that_has_gone_is_not_told_twice) {
    std::signal(SIGPIPE, SIG_IGN);
    Pipe pipe;
    Output output({pipe.writer.get(), "standard output"});
    output.write("text");
    pipe.reader.reset();
    output.write("text");
    output.sink->finish();
    output.loop.run();
    BOOST_REQUIRE(output.failures.size() == 1U);
    BOOST_TEST(output.failures.front().rest == Sink::Rest::unread);
}

BOOST_AUTO_TEST_CASE(a_non_blocking_reader_that_is_slow_does_not_keep_the_processor_busy) {
    Pipe pipe;
    BOOST_REQUIRE(::fcntl(pipe.writer.get(), F_SETFL, O_NONBLOCK) == 0);
    Output output({pipe.writer.get(), "standard output"});
    std::size_t got = 0;
    Timer read(output.loop, [&] {
        std::vector<char> bytes(1 << 20);
        got += static_cast<std::size_t>(::read(pipe.reader.get(), bytes.data(), bytes.size()));
        if (got == 200'000) read.stop();
    });
    read.start(std::chrono::milliseconds(100), std::chrono::milliseconds(10));
    output.write(std::string(200'000, 'x'));
    BOOST_TEST(got == 200'000U);
    BOOST_TEST(output.failures.empty());
    BOOST_TEST(output.loops < 200);
}

BOOST_AUTO_TEST_CASE(a_slow_reader_of_much_text_is_seen_reading) {
    Pipe pipe;
    Output output({pipe.writer.get(), "standard output"});
    std::vector<char> bytes(100'000);
    std::uint64_t seen = 0;
    output.sink->write(std::string(1 << 20, 'x'), [&seen, &output] {
        BOOST_TEST(seen > 0U);
        BOOST_TEST(output.sink->bytes_written() == 1U << 20);
    });
    Timer read(output.loop, [&] {
        if (output.sink->idle()) return read.stop();
        (void)!::read(pipe.reader.get(), bytes.data(), bytes.size());
        if (seen == 0) seen = output.sink->bytes_written();
    });
    read.start(std::chrono::milliseconds(1), std::chrono::milliseconds(1));
    output.loop.run();
    BOOST_TEST(output.sink->idle());
}

BOOST_AUTO_TEST_SUITE_END()
