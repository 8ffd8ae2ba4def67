// SPDX-License-Identifier: Apache-2.0
//
// Memory that the ranks of a node can address of each other, of real communicators of forked
// processes.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>

#include "collectives/comm/comm.hpp"
#include "counting.hpp"
#include "ends.hpp"
#include "processes.hpp"
#include "trial.hpp"

using namespace batchai::coll;

namespace {

const std::vector<std::vector<int>> kNodes = {{1}, {3}, {2, 1}};
constexpr std::size_t kRegion = 32u << 20;

constexpr std::size_t kLongestBlock = 500'000;  // of those that are not reduced

// Operations on buffers that lie there. Returns how often the library has allocated memory of its
// own.
std::size_t try_all(Communicator& comm, std::byte* memory,
                    const std::vector<std::size_t>& counts = {1, 5'000, 60'000}) {
    const std::size_t before = allocations;
    for (const std::size_t count : counts) {
        for (const Task& task : kTasks) {
            const bool reduces = task.kind == Kind::allreduce;
            std::pmr::monotonic_buffer_resource buffers(memory, kRegion,
                                                        std::pmr::null_memory_resource());
            const Topology& topology = comm.topology();
            Trial trial(task, topology.rank, topology.size,
                        reduces ? count : std::min(count, kLongestBlock), &buffers);
            Engine& engine = comm.engine();
            const Counting on(true);
            if (engine.wait(engine.start(trial.call())) != BATCHAI_COLL_OK) {
                throw std::runtime_error(engine.failure().sentence);
            }
            if (!trial.right()) throw std::runtime_error("not the right result");
        }
    }
    return allocations - before;
}

std::byte* allocate(Communicator& comm, std::size_t bytes) {
    const auto memory = comm.allocate(bytes);
    if (!memory) throw std::runtime_error(memory.error().message);
    return *memory;
}

// Lines of /proc/self/maps that are a node's memory.
int mappings() {
    std::ifstream maps("/proc/self/maps");
    int sum = 0;
    for (std::string line; std::getline(maps, line);) {
        sum += line.find("batchai-collectives") != std::string::npos;
    }
    return sum;
}

// Descriptors of such memory. Others come and go: the watchdog's thread has connections.
std::ptrdiff_t descriptors() {
    const auto is_memory = [](const std::filesystem::directory_entry& entry) {
        std::error_code closed;
        const auto target = std::filesystem::read_symlink(entry, closed).string();
        return target.find("batchai-collectives") != std::string::npos;
    };
    return std::count_if(std::filesystem::directory_iterator("/proc/self/fd"), {}, is_memory);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(memory_of_all)

BOOST_AUTO_TEST_CASE(holds_buffers_until_it_is_freed) {
    for (const auto& shape : kNodes) {
        Processes processes(shape);
        const int size = processes.size();
        expect_well(processes.run([&](int rank, Board& board) -> std::string {
            auto comm = join(board, 0, rank, size);
            const int alone = mappings();
            std::byte* first = allocate(*comm, 100 + static_cast<std::size_t>(rank));
            std::byte* second = allocate(*comm, kRegion);
            if (std::any_of(second, second + kRegion,
                            [](std::byte b) { return b != std::byte{}; })) {
                return "it is not zero";
            }
            if (descriptors() != 0) return "descriptors are left";
            try_all(*comm, second);
            // Of more chunks than there are slots, and past the caches where it is not in place.
            try_all(*comm, second, {1'600'000, 7'000});
            if (comm->release(comm->region_of(first)).status != BATCHAI_COLL_OK) return "release";
            std::size_t least = std::numeric_limits<std::size_t>::max();
            for (int i = 0; i < 5; ++i) least = std::min(least, try_all(*comm, second));
            if (least > 0) return std::to_string(least) + " allocations";
            const int with_second = mappings() - alone;
            if (with_second != comm->topology().local_size()) {
                return std::to_string(with_second) + " mappings";
            }
            if (comm->finalize().status != BATCHAI_COLL_OK) return "finalize";
            comm.reset();
            return mappings() == 0 ? "" : "it is left";
        }));
    }
}

// Other memory, which the ranks read without it being shared.
BOOST_AUTO_TEST_CASE(is_not_needed) {
    Processes processes({3});
    expect_well(processes.run([&](int rank, Board& board) -> std::string {
        auto comm = join(board, 0, rank, 3);
        std::vector<std::byte> memory(kRegion);
        for (int i = 0; i < 5; ++i) try_all(*comm, memory.data(), {60'000});
        return comm->finalize().status == BATCHAI_COLL_OK ? "" : "finalize";
    }));
}

BOOST_AUTO_TEST_CASE(an_allocation_that_fails_on_one_rank_fails_on_all) {
    for (const auto& shape : kNodes) {
        Processes processes(shape);
        const int size = processes.size(), poor = size - 1;
        expect_well(processes.run([&](int rank, Board& board) -> std::string {
            auto comm = join(board, 0, rank, size);
            const int before = mappings();
            const auto none = comm->allocate(rank == poor ? std::size_t{1} << 61 : kRegion);
            if (none) return "it is there";
            const std::string said = none.error().message;
            if (said.find("are available") == std::string::npos) return "said: " + said;
            if (mappings() != before) return "something is left";
            try_all(*comm, allocate(*comm, kRegion));
            return comm->finalize().status == BATCHAI_COLL_OK ? "" : "finalize";
        }));
    }
}

BOOST_AUTO_TEST_CASE(is_freed_by_all_or_by_none) {
    Processes processes({3});
    expect_well(processes.run([&](int rank, Board& board) -> std::string {
        auto comm = join(board, 0, rank, 3);
        const std::uint32_t first = comm->region_of(allocate(*comm, 1));
        const std::uint32_t second = comm->region_of(allocate(*comm, 1));
        const Failure failure = comm->release(rank == 1 ? second : first);
        const bool told =
            failure.status == BATCHAI_COLL_ERR_MISMATCH &&
            failure.sentence.find("rank 1 calls free of memory 2") != std::string::npos;
        return told ? "" : "said: " + failure.sentence;
    }));
}

BOOST_AUTO_TEST_SUITE_END()
