// SPDX-License-Identifier: Apache-2.0
//
// Allreduces of GPU memory: every type and operation against results that are exact, and sums of
// random numbers against float64; in place and not, at odd places and of odd lengths, with factors;
// of one node and of several, whose ranks share one GPU or have one each.
#include <cstring>

#include "../unit/collectives/numbers.hpp"
#include "job.hpp"

using namespace batchai::coll;
using namespace batchai::coll::gpu;
namespace numbers = batchai::coll::test;

namespace {

struct Task {
    batchai_coll_op op = BATCHAI_COLL_SUM;
    std::size_t count = 0, offset = 0;  // elements; the offset is from an aligned address
    bool in_place = false;
    batchai_coll_scaling scaling{1, 1};
};

// Both buffers of a rank, between stretches that must not be written to.
class Buffers {
  public:
    explicit Buffers(std::size_t most)
        : bytes_(2 * ((most + 3 * kGuard) / kGuard * kGuard)), memory_(bytes_), host_(bytes_) {}

    // Puts `input` at both buffers' places, in the stream; what is not input is a pattern.
    void put(const void* input, std::size_t bytes, const Task& task, std::size_t element,
             cudaStream_t stream) {
        input_bytes_ = bytes;
        send_ = kGuard + task.offset * element;
        receive_ = task.in_place ? send_ : bytes_ / 2 + send_;
        std::memset(host_.data(), kPattern, bytes_);
        if (bytes > 0) std::memcpy(host_.data() + send_, input, bytes);
        cuda(cudaMemcpyAsync(memory_.data(), host_.data(), bytes_, cudaMemcpyHostToDevice, stream),
             "copying the input");
        cuda(cudaStreamSynchronize(stream), "copying the input");
        std::memcpy(kept().data(), host_.data(), bytes_);
    }
    std::byte* send() const { return memory_.data() + send_; }
    std::byte* receive() const { return memory_.data() + receive_; }

    // The result, behind what is in the stream. Throws where anything else has changed.
    const std::byte* get(cudaStream_t stream) {
        cuda(cudaMemcpyAsync(host_.data(), memory_.data(), bytes_, cudaMemcpyDeviceToHost, stream),
             "copying the result");
        cuda(cudaStreamSynchronize(stream), "copying the result");
        const std::size_t end = receive_ + input_bytes_;
        if (std::memcmp(host_.data(), kept().data(), receive_) != 0 ||
            std::memcmp(host_.data() + end, kept().data() + end, bytes_ - end) != 0) {
            throw std::runtime_error("memory beside the result has changed");
        }
        return host_.data() + receive_;
    }

  private:
    static constexpr std::size_t kGuard = 256;
    static constexpr int kPattern = 0xa5;
    std::vector<std::byte>& kept() {
        kept_.resize(bytes_);
        return kept_;
    }

    std::size_t bytes_, input_bytes_ = 0, send_ = 0, receive_ = 0;
    GpuMemory memory_;
    PinnedMemory host_;
    std::vector<std::byte> kept_;
};

constexpr std::size_t kPeriod = 41;

// Whole numbers of which sums, products, means and scaled ones are exact in every type. Integers
// other than those of means are greater, and wrap.
template <class Type>
typename Type::Stored input(std::size_t i, int rank, batchai_coll_op op) {
    const int number = static_cast<int>((i * 7 + static_cast<std::size_t>(rank) * 13) % kPeriod);
    int value = number - 20;
    if (op == BATCHAI_COLL_PRODUCT) value = number % 2 == 0 ? 1 : 2 - number % 5;
    if (!std::is_floating_point_v<typename Type::Value> && op != BATCHAI_COLL_AVERAGE) value *= 5;
    if (std::is_same_v<Type, numbers::Uint8> && op == BATCHAI_COLL_AVERAGE) value += 20;
    return Type::write(static_cast<typename Type::Value>(value));
}

template <class Type>
typename Type::Stored exact(std::size_t i, int ranks, const Task& task) {
    using Value = typename Type::Value;
    const auto read = [&](int rank) {
        const Value value = Type::read(input<Type>(i, rank, task.op));
        if constexpr (!std::is_floating_point_v<Value>) return value;
        return static_cast<Value>(value * static_cast<Value>(task.scaling.before));
    };
    Value value = read(0);
    for (int r = 1; r < ranks; ++r) value = numbers::apply<Type>(task.op, value, read(r));
    if (task.op == BATCHAI_COLL_AVERAGE)
        value = static_cast<Value>(value / static_cast<Value>(ranks));
    if constexpr (std::is_floating_point_v<Value>) value *= static_cast<Value>(task.scaling.after);
    return Type::write(value);
}

template <class Type>
std::string describe(const Task& task) {
    return "type " + std::to_string(Type::kType) + ", operation " + std::to_string(task.op) + ", " +
           std::to_string(task.count) + " numbers" + (task.in_place ? " in place" : "") +
           (task.offset > 0 ? ", not aligned" : "") + (task.scaling.before != 1 ? ", scaled" : "");
}

template <class Type>
const typename Type::Stored* run(Job& job, Buffers& buffers, const Task& task,
                                 const std::vector<typename Type::Stored>& inputs,
                                 cudaStream_t stream) {
    using Stored = typename Type::Stored;
    buffers.put(inputs.data(), task.count * sizeof(Stored), task, sizeof(Stored), stream);
    job.allreduce(buffers.send(), buffers.receive(), task.count, Type::kType, task.op,
                  task.scaling.before == 1 ? nullptr : &task.scaling, stream);
    return reinterpret_cast<const Stored*>(buffers.get(stream));
}

template <class Type>
void expect_exact(Job& job, Buffers& buffers, const Task& task, cudaStream_t stream) {
    using Stored = typename Type::Stored;
    std::vector<Stored> inputs(task.count), period(kPeriod);
    for (std::size_t i = 0; i < kPeriod; ++i) period[i] = exact<Type>(i, job.size(), task);
    for (std::size_t i = 0; i < task.count; ++i) inputs[i] = input<Type>(i, job.rank(), task.op);
    const Stored* got = run<Type>(job, buffers, task, inputs, stream);
    for (std::size_t i = 0; i < task.count; ++i) {
        if (numbers::same<Type>(got[i], period[i % kPeriod])) continue;
        throw std::runtime_error(describe<Type>(task) + ": number " + std::to_string(i) + " is " +
                                 std::to_string(got[i]) + " instead of " +
                                 std::to_string(period[i % kPeriod]));
    }
}

// Between -1 and 1.
double random(std::size_t i, int rank) {
    const std::uint64_t mixed =
        (i * 2654435761u + static_cast<std::uint64_t>(rank) * 40503u + 1) * 0x9e3779b97f4a7c15u;
    return static_cast<double>(static_cast<std::int64_t>(mixed >> 11) % 2000001 - 1000000) / 1e6;
}

// As float64 has it, except the roundings: of every rank's addition, at worst, and of the result.
template <class Type>
void expect_near(Job& job, Buffers& buffers, std::size_t count, cudaStream_t stream) {
    using Stored = typename Type::Stored;
    constexpr double kUnit = sizeof(Stored) == 8                   ? 0x1p-53
                             : sizeof(Stored) == 4                 ? 0x1p-24
                             : Type::kType == BATCHAI_COLL_FLOAT16 ? 0x1p-11
                                                                   : 0x1p-8;
    std::vector<Stored> inputs(count);
    const auto stored = [](std::size_t i, int rank) {
        return Type::write(static_cast<typename Type::Value>(random(i, rank)));
    };
    for (std::size_t i = 0; i < count; ++i) inputs[i] = stored(i, job.rank());
    const Task task{BATCHAI_COLL_SUM, count};
    const Stored* got = run<Type>(job, buffers, task, inputs, stream);
    for (std::size_t i = 0; i < count; ++i) {
        double sum = 0, size = 0;
        for (int r = 0; r < job.size(); ++r) {
            const double value = Type::read(stored(i, r));
            sum += value;
            size += std::fabs(value);
        }
        if (std::fabs(Type::read(got[i]) - sum) <= kUnit * job.size() * size) continue;
        throw std::runtime_error(describe<Type>(task) + ": number " + std::to_string(i) +
                                 " is too far from its float64");
    }
}

// All types, operations and lengths; the other choices in turn.
void try_everything(Job& job, cudaStream_t stream) {
    const std::vector<std::size_t> counts =
        machine().brief ? std::vector<std::size_t>{0, 1001}
                        : std::vector<std::size_t>{0, 1, 63, 4099, 262144, 800003};
    Buffers buffers((*std::max_element(counts.begin(), counts.end()) + 2) * sizeof(double));
    unsigned turn = 0;
    numbers::for_each_type([&](auto type) {
        using Type = decltype(type);
        constexpr bool kIsFloat = std::is_floating_point_v<typename Type::Value>;
        for (const auto op : {BATCHAI_COLL_SUM, BATCHAI_COLL_AVERAGE, BATCHAI_COLL_MIN,
                              BATCHAI_COLL_MAX, BATCHAI_COLL_PRODUCT}) {
            if (op == BATCHAI_COLL_AVERAGE && std::is_same_v<Type, numbers::Bool>) continue;
            for (const std::size_t count : counts) {
                Task task{op, count, turn & 1, (turn & 2) != 0};
                expect_exact<Type>(job, buffers, task, stream);
                if (kIsFloat && count > 1) {
                    task.scaling = {0.5, 4};
                    expect_exact<Type>(job, buffers, task, stream);
                }
                turn += 3;
            }
            turn += 1;
        }
        if constexpr (kIsFloat) expect_near<Type>(job, buffers, counts.back(), stream);
    });
}

void try_large(Job& job, cudaStream_t stream) {
    constexpr std::size_t kCount = 17'000'003;  // 65 MiB of float32
    Buffers buffers((kCount + 1) * sizeof(float));
    expect_exact<numbers::Float32>(job, buffers, {BATCHAI_COLL_SUM, kCount, 0, true}, stream);
    expect_exact<numbers::Float32>(job, buffers, {BATCHAI_COLL_AVERAGE, kCount, 1, false}, stream);
    expect_exact<numbers::Bfloat16>(job, buffers, {BATCHAI_COLL_SUM, 2 * kCount - 1, 1, true},
                                    stream);
}

// Several at a time, which end in the order of their start, whichever is waited for.
void try_several(Job& job, cudaStream_t stream) {
    constexpr std::size_t kCalls = 6;
    std::vector<std::unique_ptr<Buffers>> buffers;
    std::vector<Task> tasks;
    std::vector<Job::Request*> requests;
    using Type = numbers::Int32;
    for (std::size_t k = 0; k < kCalls; ++k) {
        tasks.push_back({BATCHAI_COLL_SUM, 100'000 * k + 1, k % 2, k % 3 == 0});
        buffers.push_back(std::make_unique<Buffers>((tasks[k].count + 1) * sizeof(std::int32_t)));
        std::vector<std::int32_t> inputs(tasks[k].count);
        for (std::size_t i = 0; i < inputs.size(); ++i)
            inputs[i] = input<Type>(i, job.rank(), BATCHAI_COLL_SUM);
        buffers[k]->put(inputs.data(), inputs.size() * sizeof inputs[0], tasks[k], sizeof inputs[0],
                        stream);
    }
    for (std::size_t k = 0; k < kCalls; ++k) {
        requests.push_back(job.start(buffers[k]->send(), buffers[k]->receive(), tasks[k].count,
                                     Type::kType, BATCHAI_COLL_SUM, nullptr, stream));
    }
    job.wait(requests[3]);
    job.wait(requests[0]);
    for (const std::size_t k : {1u, 2u, 4u, 5u}) {
        while (!job.has_ended(requests[k])) {
        }
    }
    for (std::size_t k = 0; k < kCalls; ++k) {
        const auto* got = reinterpret_cast<const std::int32_t*>(buffers[k]->get(stream));
        for (std::size_t i = 0; i < tasks[k].count; ++i) {
            if (got[i] != exact<Type>(i, job.size(), tasks[k]))
                throw std::runtime_error("call " + std::to_string(k) + ": a wrong sum");
        }
    }
}

// One node of 2 and of 4 ranks, two nodes of one, two nodes of two; means of three are not exact.
const std::vector<std::vector<int>> kShapes = {{2}, {4}, {1, 1}, {2, 2}};

const Registered kOneRank{"one_rank", false, [] { for_all({{1}}, try_everything); }};
const Registered kOneNodeOfTwo{"one_node_of_2", true, [] { for_all({{2}}, try_everything); }};
const Registered kOneNodeOfFour{"one_node_of_4", false, [] { for_all({{4}}, try_everything); }};
const Registered kTwoNodesOfOne{"two_nodes_of_1", true, [] { for_all({{1, 1}}, try_everything); }};
const Registered kTwoNodesOfTwo{"two_nodes_of_2", false, [] { for_all({{2, 2}}, try_everything); }};
const Registered kUneven{"uneven_nodes", false, [] { for_all({{3, 1}}, try_everything); }};
const Registered kLarge{"more_than_64_MiB", false, [] { for_all(kShapes, try_large); }};
const Registered kSeveral{"several_in_flight", false, [] { for_all(kShapes, try_several); }};

}  // namespace
