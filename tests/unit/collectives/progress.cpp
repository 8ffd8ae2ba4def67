// SPDX-License-Identifier: Apache-2.0
#include "collectives/comm/progress.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <string>
#include <thread>

#include "sys/unique_fd.hpp"
#include "tests/unit/printing.hpp"

using namespace batchai;
using namespace batchai::coll;

namespace {

// A page as a launcher makes it, and the environment that names it.
struct Fixture {
    std::string path = "/tmp/batchai_progress_test.XXXXXX";
    sys::UniqueFd file{::mkstemp(path.data())};
    MappedPage page;

    Fixture() {
        BOOST_REQUIRE_EQUAL(::ftruncate(file.get(), kProgressBytes), 0);
        page = MappedPage(file);
        BOOST_REQUIRE(page.get() != nullptr);
        ::setenv(kProgressVariable, path.c_str(), 1);
    }
    ~Fixture() {
        ::unsetenv(kProgressVariable);
        ::unlink(path.c_str());
    }
    ProgressCopy read() const {
        const auto copy = read_progress(file);
        BOOST_REQUIRE(copy.has_value());
        return *copy;
    }
};

Signature allreduce(std::uint64_t count) {
    Signature signature;
    signature.kind = Kind::allreduce;
    signature.type = BATCHAI_COLL_FLOAT32;
    signature.count = count;
    return signature;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(progress_page, Fixture)

BOOST_AUTO_TEST_CASE(a_new_page_has_no_progress) {
    BOOST_TEST(!read_progress(file).has_value());
}

BOOST_AUTO_TEST_CASE(a_file_that_its_rank_has_cut_off_says_nothing) {
    Progress progress;
    BOOST_REQUIRE_EQUAL(::ftruncate(file.get(), 8), 0);
    BOOST_TEST(!read_progress(file).has_value());
    BOOST_REQUIRE_EQUAL(::ftruncate(file.get(), kProgressBytes), 0);  // what is written at the end
}

BOOST_AUTO_TEST_CASE(an_operation_of_a_part_of_the_job_is_not_shown) {
    Progress progress;
    progress.joined();
    {
        Progress part(false);
        part.joined();
        part.begin(3, allreduce(5));
        BOOST_TEST(read().stage == Stage::idle);
    }
    BOOST_TEST(read().stage == Stage::idle);
    BOOST_TEST(read().epoch == 1u);
}

BOOST_AUTO_TEST_CASE(a_reader_sees_what_a_rank_does) {
    Progress progress;
    BOOST_TEST(read().stage == Stage::joining);
    BOOST_TEST(read().waits());
    BOOST_TEST(read().pid == ::getpid());
    progress.joined();
    BOOST_TEST(read().stage == Stage::idle);
    BOOST_TEST(read().operation == 0u);
    progress.label("grad.3");
    progress.begin(7, allreduce(5));
    BOOST_TEST(!read().waits());
    progress.set_inside(true);
    progress.wait_for({3, 5}, true);
    const ProgressCopy inside = read();
    BOOST_TEST(inside.waits());
    BOOST_TEST(inside.operation == 7u);
    BOOST_TEST(describe(inside.signature) == "allreduce (sum) of 5 float32");
    BOOST_TEST(inside.label == "grad.3");
    BOOST_TEST(inside.certain);
    BOOST_TEST(inside.missing == (std::vector<int>{3, 5}), boost::test_tools::per_element());
    progress.complete();
    BOOST_TEST(read().stage == Stage::idle);
    BOOST_TEST(read().missing.empty());
}

BOOST_AUTO_TEST_CASE(every_change_counts_as_a_move) {
    Progress progress;
    std::uint64_t moves = read().moves;
    const auto moved = [&] { return std::exchange(moves, read().moves) < moves; };
    progress.begin(1, allreduce(1));
    BOOST_TEST(moved());
    progress.move();
    BOOST_TEST(moved());
    progress.wait_for({1}, false);
    BOOST_TEST(!moved());
    progress.complete();
    BOOST_TEST(moved());
}

BOOST_AUTO_TEST_CASE(long_words_and_lists_are_cut) {
    Progress progress;
    progress.label(std::string(1000, 'x').c_str());
    progress.wait_for(std::vector<int>(100, 9), true);
    BOOST_TEST(read().label.size() == 63u);
    BOOST_TEST(read().missing.size() == static_cast<std::size_t>(ProgressPage::kMissing));
}

BOOST_AUTO_TEST_CASE(the_next_init_has_the_next_number) {
    { const Progress first; }
    BOOST_TEST(read().stage == Stage::left);
    BOOST_TEST(read().epoch == 1u);
    const Progress second;
    BOOST_TEST(read().epoch == 2u);
}

BOOST_AUTO_TEST_CASE(a_page_of_another_size_or_place_is_left_alone) {
    BOOST_REQUIRE_EQUAL(::ftruncate(file.get(), 2 * kProgressBytes), 0);
    { const Progress progress; }
    BOOST_TEST(!read_progress(file).has_value());
    ::setenv(kProgressVariable, "/nonexistent/page", 1);
    Progress progress;
    progress.begin(1, allreduce(1));
}

BOOST_AUTO_TEST_CASE(a_file_of_garbage_is_not_a_page) {
    const std::string garbage(kProgressBytes, '\xff');
    BOOST_REQUIRE_EQUAL(::pwrite(file.get(), garbage.data(), garbage.size(), 0), 4096);
    BOOST_TEST(!read_progress(file).has_value());
    // With the right number in front, too: no operation has such a type.
    const std::uint64_t magic = ProgressPage::kMagic;
    BOOST_REQUIRE_EQUAL(::pwrite(file.get(), &magic, sizeof magic, 0), 8);
    BOOST_TEST(!read_progress(file).has_value());
}

BOOST_AUTO_TEST_CASE(a_reader_never_sees_half_a_change) {
    Progress progress;
    std::atomic<bool> over{false};
    std::thread writer([&] {
        for (std::uint64_t n = 1; !over; ++n) progress.begin(n, allreduce(n));
    });
    for (int i = 0; i < 2000; ++i) {
        const ProgressCopy copy = read();
        if (copy.whole && copy.operation > 0 && copy.operation != copy.signature.count) {
            BOOST_ERROR("operation " << copy.operation << " has " << copy.signature.count);
            break;
        }
    }
    over = true;
    writer.join();
}

BOOST_AUTO_TEST_SUITE_END()
