// SPDX-License-Identifier: Apache-2.0
//
// Allreduces of device memory between real processes, on HostDevices: how they find what their
// devices can do together, all ways that there are, and what happens when one of them dies.
#include "collectives/device/device_comm.hpp"

#include "ends.hpp"
#include "host_device.hpp"
#include "processes.hpp"

using namespace batchai::coll;

namespace {

// One rank's part.
class Member {
  public:
    Member(Board& board, int rank, int size) : comm_(join(board, 0, rank, size)) {}

    // Why it cannot be opened; memory: bytes for each of two buffers.
    std::string open(std::size_t bytes) {
        const auto device = std::make_shared<HostDevice>(comm_->topology().rank + 1);
        auto made = DeviceCommunicator::create(*comm_, Gpu{device, nullptr});
        if (!made) return made.error().message;
        device_ = std::move(*made);
        send_ = reinterpret_cast<float*>(device->allocate(bytes).value());
        receive_ = reinterpret_cast<float*>(device->allocate(bytes).value());
        stream_ = device->make_stream().value();
        event_ = device->make_event().value();
        return {};
    }

    DeviceCall call(std::size_t first, std::size_t count) const {
        auto call = allreduce_call(reinterpret_cast<const std::byte*>(send_ + first),
                                   reinterpret_cast<std::byte*>(receive_ + first), count);
        call.stream = stream_;
        return call;
    }

    // Sums of count numbers in so many calls that are under way together.
    std::string sum(std::size_t count, std::size_t calls) {
        const Topology& topology = comm_->topology();
        for (std::size_t i = 0; i < count; ++i) {
            send_[i] = static_cast<float>(i % 13 + static_cast<std::size_t>(topology.rank));
        }
        std::vector<DeviceCommunicator::Request*> requests;
        for (std::size_t c = 0; c < calls; ++c) {
            const std::size_t first = count * c / calls;
            requests.push_back(device_->start(call(first, count * (c + 1) / calls - first)));
        }
        if (std::string failed = await(requests); !failed.empty()) return failed;
        const int ranks = topology.size;
        for (std::size_t i = 0; i < count; ++i) {
            const auto expected =
                static_cast<float>(ranks * static_cast<int>(i % 13) + ranks * (ranks - 1) / 2);
            if (receive_[i] != expected) return "a sum is wrong";
        }
        return {};
    }

    std::string close() {
        const Failure failure = device_->close();
        device_.reset();
        if (failure.status != BATCHAI_COLL_OK) return failure.sentence;
        return comm_->finalize().sentence;
    }

    DeviceCommunicator& device() { return *device_; }

  private:
    // Their ends, and that of what they have ordered.
    std::string await(const std::vector<DeviceCommunicator::Request*>& requests) {
        for (auto* request : requests) {
            if (device_->wait(request) != BATCHAI_COLL_OK) return device_->failure().sentence;
        }
        Device& device = device_->device();
        (void)device.record(event_, stream_);
        while (!device.query(event_).value()) {
        }
        return {};
    }

    std::unique_ptr<Communicator> comm_;
    std::unique_ptr<DeviceCommunicator> device_;
    float *send_ = nullptr, *receive_ = nullptr;
    Device::Stream stream_ = nullptr;
    Device::Event event_ = nullptr;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(device_comms)

BOOST_AUTO_TEST_CASE(ranks_find_their_ways_and_sums_are_right) {
    for (const std::vector<int>& nodes : {std::vector<int>{1}, {2}, {1, 1}, {2, 2}, {2, 1}, {3}}) {
        Processes job(nodes);
        BOOST_TEST_CONTEXT(nodes.size() << " nodes, " << job.size() << " ranks") {
            expect_well(job.run([&](int rank, Board& board) -> std::string {
                Member member(board, rank, job.size());
                constexpr std::size_t kCount = 1'500'000;
                if (auto wrong = member.open(kCount * sizeof(float)); !wrong.empty()) return wrong;
                for (const std::size_t count : {1u, 1000u, 300'001u}) {
                    if (auto wrong = member.sum(count, 3); !wrong.empty()) return wrong;
                }
                if (auto wrong = member.sum(kCount, 1); !wrong.empty()) return wrong;
                const bool shares = nodes[0] > 1 && nodes[0] == nodes.back();
                const std::string& plan = member.device().plan();
                const auto has = [&](const char* way) { return plan.find(way) != plan.npos; };
                const bool rails = shares && nodes.size() > 1;
                if (has("shared memory") != shares || has("pinned memory between") != rails) {
                    return "the plan is " + plan;
                }
                return member.close();
            }));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_rank_without_a_device_is_an_error_on_all) {
    Processes job({2, 1});
    expect_well(job.run([&](int rank, Board& board) -> std::string {
        auto comm = Communicator::create(std::make_unique<BoardBootstrap>(board, 0, rank, 3));
        if (!comm) return comm.error().message;
        batchai::sys::Result<Gpu> gpu(Gpu{std::make_shared<HostDevice>(1), nullptr});
        if (rank == 1) gpu = batchai::sys::Error{"no device today"};
        const auto made = DeviceCommunicator::create(**comm, gpu);
        if (made) return "it was opened";
        if (made.error().message != "rank 1: no device today") return made.error().message;
        return (*comm)->finalize().sentence;  // which is of use still
    }));
}

// The ranks of the other rail have found nothing wrong by then.
BOOST_AUTO_TEST_CASE(a_rail_that_cannot_be_made_is_an_error_on_all) {
    Processes job({2, 2});
    expect_well(job.run([&](int rank, Board& board) -> std::string {
        Member member(board, rank, job.size());
        if (rank == 3) ::setenv("BATCHAI_COLL_ALGORITHM", "magic", 1);
        const std::string said = member.open(4096);
        return said.find("BATCHAI_COLL_ALGORITHM: 'magic'") != std::string::npos ? ""
                                                                                 : "said: " + said;
    }));
}

BOOST_AUTO_TEST_CASE(ranks_that_call_something_else_are_named) {
    Processes job({2, 2});
    expect_well(job.run([&](int rank, Board& board) -> std::string {
        Member member(board, rank, job.size());
        if (auto wrong = member.open(4096); !wrong.empty()) return wrong;
        const std::string failed = member.sum(rank == 2 ? 999 : 1000, 1);
        const bool named =
            failed.find("rank 2 calls allreduce (sum) of 999 float32 on GPUs") != std::string::npos;
        return named ? "" : "said: " + failed;
    }));
}

BOOST_AUTO_TEST_CASE(the_limit_is_for_what_does_not_move) {
    Processes job({2});
    expect_well(job.run([&](int rank, Board& board) -> std::string {
        ::setenv("BATCHAI_COLL_TIMEOUT", "2", 1);
        Member member(board, rank, job.size());
        if (auto wrong = member.open(1 << 20); !wrong.empty()) return wrong;
        // Longer than that, by count: ranks need not see the same time.
        for (int i = 0; i < 30; ++i) {
            if (auto wrong = member.sum(1000, 1); !wrong.empty()) return wrong;
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        return member.close();
    }));
}

BOOST_AUTO_TEST_CASE(a_device_that_fails_is_an_error_on_all) {
    for (const std::vector<int>& nodes : {std::vector<int>{2}, {2, 2}, {1, 1}}) {
        Processes job(nodes);
        expect_well(job.run([&](int rank, Board& board) -> std::string {
            Member member(board, rank, job.size());
            if (auto wrong = member.open(4096); !wrong.empty()) return wrong;
            DeviceCall call = member.call(0, 1000);
            float elsewhere[1000];
            if (rank == 1) call.send = reinterpret_cast<const std::byte*>(elsewhere);
            const auto status = member.device().wait(member.device().start(call));
            const std::string expected =
                "rank 1: allreduce (sum) of 1000 float32 on GPUs: a copy: 4000 bytes that the "
                "device does not reach";
            const std::string& said = member.device().failure().sentence;
            if (status == BATCHAI_COLL_ERR_SYSTEM && said == expected) return {};
            return "said: " + said;
        }));
    }
}

BOOST_AUTO_TEST_CASE(a_rank_that_is_killed_is_an_error_on_the_others) {
    for (const std::vector<int>& nodes : {std::vector<int>{2}, {2, 2}}) {
        Processes job(nodes);
        auto ends = job.run([&](int rank, Board& board) -> std::string {
            Member member(board, rank, job.size());
            if (auto wrong = member.open(4 << 20); !wrong.empty()) return wrong;
            if (auto wrong = member.sum(1000, 1); !wrong.empty()) return wrong;
            meet(board, rank, job.size());
            if (rank == 1) {
                // In the middle: its part of the next one is begun.
                member.device().start(member.call(0, 1'000'000));
                ::kill(::getpid(), SIGKILL);
            }
            std::string failed;
            while (failed.empty()) failed = member.sum(1'000'000, 1);
            return failed.find("rank 1") != std::string::npos ? "" : "said: " + failed;
        });
        BOOST_TEST(ends[1] == "signal 9");
        ends[1].clear();
        expect_well(ends);
    }
}

BOOST_AUTO_TEST_SUITE_END()
