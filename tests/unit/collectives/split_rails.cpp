// SPDX-License-Identifier: Apache-2.0
//
// The hierarchical allreduce of device memory, on devices that do their work late and in a random
// order: an event that is missing somewhere shows as a wrong number with some seed.
#include "collectives/device/split_rails.hpp"

#include <boost/test/unit_test.hpp>

#include "device_ranks.hpp"
#include "numbers.hpp"
#include "trial.hpp"

using namespace batchai::coll;
using namespace batchai::coll::test;

namespace {

constexpr std::size_t kChunk = 1024;  // bytes

struct Shape {
    int nodes, per_node;
    DeviceRanks::Path path;
};

// Small whole numbers: every sum and half of one is exact in every type.
int input(int rank, std::size_t i, int round) {
    return static_cast<int>((i * 7 + static_cast<std::size_t>(rank * 3 + round)) % 5);
}

template <class Type>
class Summed {
  public:
    using Stored = typename Type::Stored;
    using Value = typename Type::Value;

    Summed(DeviceRanks& job, batchai_coll_op op, std::size_t count, int round, bool in_place)
        : job_(job), op_(op), count_(count), round_(round), in_place_(in_place) {}

    void factors(double before, double after) {
        before_ = before;
        after_ = after;
    }

    void run() {
        std::vector<DeviceCall> calls;
        for (int r = 0; r < job_.size(); ++r) {
            auto* send = reinterpret_cast<Stored*>(job_.memory(r));
            auto* given = reinterpret_cast<Stored*>(job_.input(r));
            for (std::size_t i = 0; i < count_; ++i) {
                given[i] = Type::write(static_cast<Value>(input(r, i, round_)));
            }
            auto* receive = in_place_ ? send : send + count_ + 64;
            auto call =
                allreduce_call(reinterpret_cast<std::byte*>(send),
                               reinterpret_cast<std::byte*>(receive), count_, Type::kType, op_);
            call.signature.before = before_;
            call.signature.after = after_;
            call.stream = job_.stream(r);
            calls.push_back(call);
        }
        BOOST_TEST_REQUIRE(job_.run(calls) == "");
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            const Stored sum = expected(i);
            for (const DeviceCall& call : calls) {
                wrong += !same<Type>(reinterpret_cast<const Stored*>(call.receive)[i], sum);
            }
        }
        BOOST_TEST(wrong == 0u);
    }

  private:
    Stored expected(std::size_t i) const {
        const bool average = op_ == BATCHAI_COLL_AVERAGE;
        const auto stored = [&](std::size_t r) {
            return Type::write(static_cast<Value>(input(static_cast<int>(r), i, round_)));
        };
        return reduced_plainly<Type>(average ? BATCHAI_COLL_SUM : op_,
                                     static_cast<std::size_t>(job_.size()), stored, before_, after_,
                                     average ? job_.size() : 1);
    }

    DeviceRanks& job_;
    batchai_coll_op op_;
    std::size_t count_;
    int round_;
    bool in_place_;
    double before_ = 1, after_ = 1;
};

void for_each_shape(const std::function<void(const Shape&, unsigned seed)>& body) {
    for (unsigned seed = 1; seed <= 8; ++seed) {
        for (const auto& [nodes, per_node] :
             {std::pair{1, 2}, {1, 3}, {2, 1}, {2, 2}, {3, 2}, {4, 2}}) {
            for (const auto path : {DeviceRanks::Path::shared, DeviceRanks::Path::stream,
                                    DeviceRanks::Path::flat, DeviceRanks::Path::host}) {
                BOOST_TEST_CONTEXT(nodes << " nodes of " << per_node << ", path "
                                         << static_cast<int>(path) << ", seed " << seed) {
                    body({nodes, per_node, path}, seed);
                }
            }
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(split_rails)

BOOST_AUTO_TEST_CASE(sums_of_every_length_are_right_call_after_call) {
    for_each_shape([](const Shape& shape, unsigned seed) {
        DeviceRanks job(shape.nodes, shape.per_node, shape.path, kChunk, seed);
        int round = 0;
        for (const std::size_t count : {1u, 0u, 17u, 255u, 256u, 257u, 5000u, 3u, 20000u}) {
            ++round;
            Summed<Float32>(job, BATCHAI_COLL_SUM, count, round, round % 2 == 0).run();
        }
    });
}

BOOST_AUTO_TEST_CASE(every_type_and_operation_is_right) {
    for_each_shape([](const Shape& shape, unsigned seed) {
        if (seed > 2) return;
        DeviceRanks job(shape.nodes, shape.per_node, shape.path, kChunk, seed);
        int round = 0;
        for_each_type([&](auto type) {
            using Type = decltype(type);
            for (const auto op : {BATCHAI_COLL_SUM, BATCHAI_COLL_AVERAGE, BATCHAI_COLL_MIN,
                                  BATCHAI_COLL_MAX, BATCHAI_COLL_PRODUCT}) {
                if (std::is_same_v<Type, Bool> && op == BATCHAI_COLL_AVERAGE) continue;
                // Rounded more than once.
                const bool halves = (job.size() & (job.size() - 1)) == 0;
                const bool is_short =
                    std::is_same_v<Type, Float16> || std::is_same_v<Type, Bfloat16>;
                if (op == BATCHAI_COLL_AVERAGE && is_short && !halves) continue;
                Summed<Type>(job, op, 700, ++round, false).run();
            }
        });
    });
}

BOOST_AUTO_TEST_CASE(factors_are_applied_once) {
    for_each_shape([](const Shape& shape, unsigned seed) {
        if (seed > 2) return;
        DeviceRanks job(shape.nodes, shape.per_node, shape.path, kChunk, seed);
        for_each_float([&](auto type) {
            Summed<decltype(type)> round(job, BATCHAI_COLL_SUM, 900, 1, true);
            round.factors(0.5, 4);
            round.run();
        });
    });
}

BOOST_AUTO_TEST_CASE(a_failure_is_the_device_s_or_the_host_s) {
    using Path = DeviceRanks::Path;
    const std::vector<std::byte> elsewhere(400);
    const auto run = [&](DeviceRanks& job, bool device_fails) {
        std::vector<DeviceCall> calls(static_cast<std::size_t>(job.size()));
        for (int r = 0; r < job.size(); ++r) {
            calls[r] =
                allreduce_call(job.memory(r), job.memory(r), elsewhere.size() / sizeof(float));
            calls[r].signature.before = 2;  // so that NCCL's ways have an order of their own
            calls[r].stream = job.stream(r);
        }
        if (device_fails) calls[1].send = elsewhere.data();
        return job.run(calls);
    };
    for (const Path path : {Path::shared, Path::stream, Path::flat, Path::host}) {
        BOOST_TEST_CONTEXT("path " << static_cast<int>(path)) {
            DeviceRanks job(2, 2, path, kChunk, 1);
            const std::string said = run(job, true);
            BOOST_TEST(said.starts_with("the device's: "), said);
            BOOST_TEST(said.ends_with("400 bytes that the device does not reach"), said);
        }
    }
    for (const Path path : {Path::shared, Path::stream, Path::host}) {
        DeviceRanks job(2, 2, path, kChunk, 1);
        job.fail_engines({BATCHAI_COLL_ERR_PEER, "rank 7 is lost"});
        BOOST_TEST(run(job, false) == "the host's: rank 7 is lost");
    }
}

BOOST_AUTO_TEST_SUITE_END()
