// SPDX-License-Identifier: Apache-2.0
//
// Named tensors of GPU memory through the C interface's queue: steps of training of tensors of all
// sizes, at any address, in another order on each rank. Their numbers come late, behind other work
// in the program's streams, and the results are taken away behind the end of each operation: the
// host waits for the GPU at the end of a step only, so that a missing dependency shows. And what
// goes wrong, as in failures.cpp.
#include <array>
#include <cstring>
#include <random>

#include "../unit/collectives/numbers.hpp"
#include "job.hpp"
#include "work.hpp"

using namespace batchai::coll;
using namespace batchai::coll::gpu;
namespace numbers = batchai::coll::test;

namespace {

struct Tensor {
    std::size_t count = 0;
    batchai_coll_type type = BATCHAI_COLL_FLOAT32;
    batchai_coll_op op = BATCHAI_COLL_SUM;
    bool in_place = true, scaled = false;
    std::size_t from = 0, to = 0;  // bytes from the memory's begin
};

constexpr batchai_coll_scaling kScaling{0.5, 4};
constexpr std::size_t kPeriod = 11;  // of the numbers of a tensor
constexpr int kPattern = 0xa5;       // of each byte that holds no number

template <class Body>
void with_type(batchai_coll_type type, Body body) {
    numbers::for_each_type([&](auto each) {
        if (each.kType == type) body(each);
    });
}

std::size_t bytes_of(const Tensor& tensor) {
    std::size_t bytes = 0;
    with_type(tensor.type,
              [&](auto type) { bytes = tensor.count * sizeof(typename decltype(type)::Stored); });
    return bytes;
}

// Whole numbers of which all results are exact in every type.
int number(const Tensor& tensor, std::size_t i, int rank, int step) {
    return static_cast<int>((i * 7 + tensor.count + static_cast<std::size_t>(step) * 3) % kPeriod) +
           rank;
}

double result(const Tensor& tensor, std::size_t i, int ranks, int step) {
    const int least = number(tensor, i, 0, step);
    if (tensor.op == BATCHAI_COLL_MAX) return least + ranks - 1;
    double sum = ranks * least + ranks * (ranks - 1) / 2;
    if (tensor.op == BATCHAI_COLL_AVERAGE) {
        sum /= ranks;
        if (tensor.type == BATCHAI_COLL_INT32) sum = std::trunc(sum);  // no others are averaged
    }
    return tensor.scaled ? sum * kScaling.before * kScaling.after : sum;
}

// value(i) for the first of the numbers, which repeat themselves.
template <class Type, class Value>
std::array<typename Type::Stored, kPeriod> period_of(Value value) {
    std::array<typename Type::Stored, kPeriod> period;
    for (std::size_t i = 0; i < kPeriod; ++i) {
        period[i] = Type::write(static_cast<typename Type::Value>(value(i)));
    }
    return period;
}

// One after another, each behind a gap, so that addresses are multiples of a number's size and no
// more. Returns the bytes of all.
std::size_t lay_out(std::vector<Tensor>& tensors) {
    std::size_t at = 0;
    const auto place = [&](std::size_t bytes, std::size_t element) {
        at = (at / element + 2) * element;
        const std::size_t begin = at;
        at += bytes;
        return begin;
    };
    for (Tensor& tensor : tensors) {
        const std::size_t bytes = bytes_of(tensor);
        const std::size_t element = tensor.count == 0 ? 1 : bytes / tensor.count;
        tensor.from = place(bytes, element);
        tensor.to = tensor.in_place ? tensor.from : place(bytes, element);
    }
    return at + sizeof(double);
}

// The tensors of one rank, of which every step is a named operation of each, or one of all.
class Trainer {
  public:
    enum class How { alone, together };

    Trainer(QueueJob& job, std::string name, std::vector<Tensor> tensors, How how = How::alone)
        : job_(job),
          name_(std::move(name)),
          tensors_(std::move(tensors)),
          bytes_(lay_out(tensors_)),
          how_(how),
          memory_(bytes_),
          in_(bytes_),
          out_(bytes_),
          random_(static_cast<unsigned>(job.rank())) {
        cuda(cudaMemset(memory_.data(), kPattern, bytes_), "clearing");
        cuda(cudaDeviceSynchronize(), "clearing");
    }

    // In the stream, and every other tensor in one of its own. Throws what is wrong.
    void step(cudaStream_t stream) {
        ++step_;
        streams_ = {stream, how_ == How::together ? stream : static_cast<cudaStream_t>(other_)};
        for (const Tensor& tensor : tensors_) write(tensor);
        std::vector<Operation> operations = submit_all();
        // A thread that only asks for the state must not count as waiting.
        end(operations.back(), true);
        operations.pop_back();
        std::shuffle(operations.begin(), operations.end(), random_);
        for (const Operation& operation : operations) end(operation, random_() % 2 == 0);
        for (cudaStream_t each : streams_) cuda(cudaStreamSynchronize(each), "waiting");
        for (const Tensor& tensor : tensors_) look_at(tensor);
        look_beside();
    }

  private:
    struct Operation {
        std::vector<std::size_t> tensors;
        batchai_coll_ticket* ticket = nullptr;
    };

    cudaStream_t stream_of(std::size_t tensor) const { return streams_[tensor % 2]; }

    // Its numbers, on the host.
    void write(const Tensor& tensor) {
        with_type(tensor.type, [&](auto type) {
            using Type = decltype(type);
            const auto period = period_of<Type>(
                [&](std::size_t i) { return number(tensor, i, job_.rank(), step_); });
            std::byte* to = in_.data() + tensor.from;
            for (std::size_t i = 0; i < tensor.count; ++i) {
                std::memcpy(to + i * sizeof period[0], &period[i % kPeriod], sizeof period[0]);
            }
        });
    }

    std::vector<Operation> submit_all() {
        std::vector<Operation> operations;
        std::vector<std::size_t> order(tensors_.size());
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random_);
        if (how_ == How::together) {
            for (const std::size_t i : order) bring(i);
            std::sort(order.begin(), order.end());
            operations.push_back(submit(name_, order));
            return operations;
        }
        for (const std::size_t i : order) {
            bring(i);
            operations.push_back(submit(name_ + "." + std::to_string(i), {i}));
        }
        return operations;
    }

    // Puts the tensor's numbers into its stream; some of them late.
    void bring(std::size_t i) {
        constexpr long long kLong = 3'000'000;  // multiplications: some milliseconds
        if (brought_++ % 13 == 0) cuda(burn(kLong, 1, stream_of(i)), "burning");
        const std::size_t from = tensors_[i].from, bytes = bytes_of(tensors_[i]);
        if (bytes == 0) return;
        cuda(cudaMemcpyAsync(memory_.data() + from, in_.data() + from, bytes,
                             cudaMemcpyHostToDevice, stream_of(i)),
             "copying the numbers");
    }

    Operation submit(const std::string& name, const std::vector<std::size_t>& which) {
        std::vector<batchai_coll_tensor> tensors;
        for (const std::size_t i : which) {
            const Tensor& tensor = tensors_[i];
            tensors.push_back({memory_.data() + tensor.from, memory_.data() + tensor.to,
                               tensor.count, tensor.type});
        }
        const Tensor& first = tensors_[which.front()];
        Operation operation{which};
        check(job_.submit(name, tensors, first.op, first.scaled ? &kScaling : nullptr,
                          stream_of(which.front()), &operation.ticket));
        return operation;
    }

    // Waits or asks, and then takes the results away and writes over them: all in the stream.
    void end(const Operation& operation, bool wait) {
        batchai_coll_status status = BATCHAI_COLL_IN_PROGRESS;
        if (wait) status = job_.wait(operation.ticket);
        while (status == BATCHAI_COLL_IN_PROGRESS) {
            status = batchai_coll_ticket_test(job_.queue(), operation.ticket);
        }
        check(status);
        for (const std::size_t i : operation.tensors) {
            const Tensor& tensor = tensors_[i];
            const std::size_t bytes = bytes_of(tensor);
            if (bytes == 0) continue;
            cuda(cudaMemcpyAsync(out_.data() + tensor.to, memory_.data() + tensor.to, bytes,
                                 cudaMemcpyDeviceToHost, stream_of(i)),
                 "copying the results");
            for (const std::size_t at : {tensor.from, tensor.to}) {
                cuda(cudaMemsetAsync(memory_.data() + at, kPattern, bytes, stream_of(i)),
                     "clearing");
            }
        }
    }

    void look_at(const Tensor& tensor) const {
        with_type(tensor.type, [&](auto type) {
            using Type = decltype(type);
            const auto period = period_of<Type>(
                [&](std::size_t i) { return result(tensor, i, job_.size(), step_); });
            const std::byte* got = out_.data() + tensor.to;
            for (std::size_t i = 0; i < tensor.count; ++i) {
                typename Type::Stored stored;
                std::memcpy(&stored, got + i * sizeof stored, sizeof stored);
                if (stored == period[i % kPeriod]) continue;
                throw std::runtime_error(
                    name_ + ", step " + std::to_string(step_) + ", " +
                    std::to_string(tensor.count) + " of type " + std::to_string(tensor.type) +
                    ", operation " + std::to_string(tensor.op) + ": number " + std::to_string(i) +
                    " is " + std::to_string(Type::read(stored)) + " instead of " +
                    std::to_string(Type::read(period[i % kPeriod])));
            }
        });
    }

    // After a step, no byte is a number's.
    void look_beside() const {
        std::vector<std::byte> all(bytes_);
        cuda(cudaMemcpy(all.data(), memory_.data(), bytes_, cudaMemcpyDeviceToHost), "copying");
        for (std::size_t at = 0; at < bytes_; ++at) {
            if (all[at] == static_cast<std::byte>(kPattern)) continue;
            throw std::runtime_error(name_ + ", step " + std::to_string(step_) + ": byte " +
                                     std::to_string(at) +
                                     " beside the tensors, or after them, has changed");
        }
    }

    QueueJob& job_;
    const std::string name_;
    std::vector<Tensor> tensors_;
    const std::size_t bytes_;
    const How how_;
    GpuMemory memory_;
    PinnedMemory in_, out_;
    const Stream other_;
    std::array<cudaStream_t, 2> streams_{};
    std::mt19937 random_;
    int step_ = 0;
    unsigned brought_ = 0;
};

// Small ones to be fused, two that fill the buffer, some that are larger; all types and factors.
std::vector<Tensor> all_kinds() {
    constexpr std::size_t kFull = QueueJob::kFusion / sizeof(float);
    const auto sum = BATCHAI_COLL_SUM, average = BATCHAI_COLL_AVERAGE;
    return {{1},
            {3},
            {500},
            {7, BATCHAI_COLL_INT32},
            {1000},
            {2000, BATCHAI_COLL_INT32, average},
            {33, BATCHAI_COLL_FLOAT16, average},
            {kFull},
            {kFull - 1},
            {700'001},
            {700'003, BATCHAI_COLL_FLOAT16, sum, false},
            {5, BATCHAI_COLL_INT32},
            {1, BATCHAI_COLL_FLOAT64},
            {64, BATCHAI_COLL_BFLOAT16, sum, true, true},
            {2, BATCHAI_COLL_INT8},
            {0},
            {9, BATCHAI_COLL_FLOAT32, average, false},
            {4097, BATCHAI_COLL_FLOAT64, average, true, true},
            {1, BATCHAI_COLL_FLOAT16},
            {300'000, BATCHAI_COLL_FLOAT32, sum, false, true},
            {77, BATCHAI_COLL_UINT8},
            {1001, BATCHAI_COLL_INT64, BATCHAI_COLL_MAX},
            {1002, BATCHAI_COLL_FLOAT16},
            {10'007, BATCHAI_COLL_BFLOAT16}};
}

void train(QueueJob& job, cudaStream_t stream) {
    Trainer trainer(job, "tensor", all_kinds());
    const int steps = machine().brief ? 3 : 24;
    // On the default stream, too.
    for (int i = 0; i < steps; ++i) trainer.step(i % 3 == 2 ? nullptr : stream);
}

// More tensors than one order copies, then others, which a schedule does not expect.
void change(QueueJob& job, cudaStream_t stream) {
    Trainer many(job, "many", std::vector<Tensor>(300, {2}));
    Trainer few(job, "few", {{3000}, {20, BATCHAI_COLL_FLOAT16}, {1}});
    for (Trainer* trainer : {&many, &few, &many, &few}) {
        for (int i = 0; i < 6; ++i) trainer->step(stream);
    }
}

void group(QueueJob& job, cudaStream_t stream) {
    std::vector<Tensor> tensors(200, {17});
    for (const Tensor& tensor : all_kinds()) {
        if (tensor.op == BATCHAI_COLL_SUM && !tensor.scaled) tensors.push_back(tensor);
    }
    Trainer trainer(job, "group", tensors, Trainer::How::together);
    for (int i = 0; i < 8; ++i) trainer.step(stream);
}

const std::vector<std::vector<int>> kShapes = {{2}, {1, 1}, {2, 2}, {2, 1}};

const Registered kTraining{"queue_training", true, [] {
                               for_all<QueueJob>({{2}, {1, 1}}, train);
                               if (!machine().brief) for_all<QueueJob>({{1}, {2, 2}}, train);
                           }};
const Registered kChanges{"queue_changes", false, [] { for_all<QueueJob>(kShapes, change); }};
const Registered kGroups{"queue_groups", false, [] { for_all<QueueJob>(kShapes, group); }};

// What was said, in part.
void expect_said(const std::string& wanted) {
    const std::string sentence = batchai_coll_last_error();
    if (sentence.find(wanted) != std::string::npos) return;
    throw std::runtime_error("said: " + sentence + ", and not: " + wanted);
}

void expect_refused(batchai_coll_status status, const std::string& why) {
    expect(BATCHAI_COLL_ERR_ARGUMENT, status, why);
    expect_said(why);
}

constexpr std::size_t kCount = 2'000'003;

// All ranks go on: the small tensors are reduced.
void expect_to_work(QueueJob& job, cudaStream_t stream) {
    Trainer trainer(job, "good", {{1}, {1000}, {9, BATCHAI_COLL_INT32}});
    for (int i = 0; i < 3; ++i) trainer.step(stream);
}

// Buffers that cannot be.
void refuse_buffers(QueueJob& job, cudaStream_t stream) {
    const GpuMemory memory(2 * kCount * sizeof(float));
    std::vector<float> host(kCount);
    const PinnedMemory pinned(kCount * sizeof(float));
    std::byte* there = memory.data();
    batchai_coll_ticket* ticket = nullptr;
    const auto start = [&](const void* send, void* receive) {
        return job.submit("bad", {{send, receive, kCount, BATCHAI_COLL_FLOAT32}}, BATCHAI_COLL_SUM,
                          nullptr, stream, &ticket);
    };
    const std::string elsewhere = "the buffer is not in the memory of ";
    expect_refused(start(host.data(), there), elsewhere);
    expect_refused(start(there, host.data()), elsewhere);
    expect_refused(start(pinned.data(), there), elsewhere);
    expect_refused(start(nullptr, there), "a null buffer");
    expect_refused(start(there, there + sizeof(float)), "overlap");
    expect_refused(start(there + 1, there + 1), "the buffer is not aligned to its type");
    expect_refused(job.submit("bad", {}, BATCHAI_COLL_SUM, nullptr, stream, &ticket), "no tensors");
    const batchai_coll_tensor integers{there, there, kCount, BATCHAI_COLL_INT32};
    expect(BATCHAI_COLL_ERR_ARGUMENT,
           job.submit("bad", {integers}, BATCHAI_COLL_SUM, &kScaling, stream, &ticket),
           "factors of integers");
    const auto other = batchai_coll_submit_device_allreduce(job.queue(), "bad", nullptr, &integers,
                                                            1, BATCHAI_COLL_SUM, nullptr, 0,
                                                            job.gpu() + 1, stream, &ticket);
    expect_refused(other,
                   "a queue uses one GPU, and this one uses GPU " + std::to_string(job.gpu()));
}

void refuse_captured_stream(QueueJob& job) {
    const Stream stream;
    const GpuMemory memory(kCount * sizeof(float));
    batchai_coll_ticket* ticket = nullptr;
    cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "capturing");
    const auto status =
        job.submit("captured", {{memory.data(), memory.data(), kCount, BATCHAI_COLL_FLOAT32}},
                   BATCHAI_COLL_SUM, nullptr, stream, &ticket);
    cudaGraph_t graph = nullptr;
    expect_refused(status, "the stream is captured into a graph");
    cuda(cudaStreamEndCapture(stream, &graph), "capturing");
    cuda(cudaGraphDestroy(graph), "a graph");
}

const Registered kArguments{"queue_bad_arguments", true, [] {
                                for_all<QueueJob>({{2}}, [](QueueJob& job, cudaStream_t stream) {
                                    expect_to_work(job, stream);
                                    refuse_buffers(job, stream);
                                    refuse_captured_stream(job);
                                    expect_to_work(job, stream);
                                });
                            }};

// Of rank 1 something else is wrong in each: the memory, the count. The job goes on.
void disagree(QueueJob& job, cudaStream_t stream) {
    const GpuMemory memory(100 * sizeof(float));
    std::vector<float> host(100);
    cuda(cudaMemset(memory.data(), 0, 100 * sizeof(float)), "clearing");
    cuda(cudaDeviceSynchronize(), "clearing");
    batchai_coll_tensor tensor{memory.data(), memory.data(), 100, BATCHAI_COLL_FLOAT32};
    batchai_coll_ticket* ticket = nullptr;
    if (job.rank() == 0) {
        check(job.submit("odd", {tensor}, BATCHAI_COLL_SUM, nullptr, stream, &ticket));
    } else {
        const batchai_coll_tensor here{host.data(), host.data(), 100, BATCHAI_COLL_FLOAT32};
        check(batchai_coll_submit_allreduce(job.queue(), "odd", nullptr, &here, 1, BATCHAI_COLL_SUM,
                                            nullptr, 0, &ticket));
    }
    expect(BATCHAI_COLL_ERR_MISMATCH, job.wait(ticket), "memory of the host on one rank");
    expect_said(
        "rank 0 has allreduce (sum) of 100 float32 on GPUs, rank 1 has allreduce (sum) of 100 "
        "float32");
    expect_to_work(job, stream);
    tensor.count -= static_cast<std::size_t>(job.rank());
    check(job.submit("odd", {tensor}, BATCHAI_COLL_SUM, nullptr, stream, &ticket));
    expect(BATCHAI_COLL_ERR_MISMATCH, job.wait(ticket), "other counts");
    expect_said("rank 1 has allreduce (sum) of 99 float32 on GPUs");
    expect_to_work(job, stream);
}

const Registered kMismatch{"queue_mismatch", false, [] {
                               for_all<QueueJob>({{2}, {1, 1}}, disagree);
                           }};

// The last rank dies in the middle of an operation; the others say so, and can leave.
void lose_one(int rank, int size, Board& board, Place place) {
    QueueJob job(board, rank, size, place);
    const GpuMemory memory(kCount * sizeof(float));
    const Stream stream;
    cuda(cudaMemset(memory.data(), 0, kCount * sizeof(float)), "clearing");
    cuda(cudaDeviceSynchronize(), "clearing");
    const auto start = [&](batchai_coll_ticket** ticket) {
        return job.submit("tensor", {{memory.data(), memory.data(), kCount, BATCHAI_COLL_FLOAT32}},
                          BATCHAI_COLL_SUM, nullptr, stream, ticket);
    };
    batchai_coll_ticket* ticket = nullptr;
    for (int i = 0; i < 5; ++i) {
        check(start(&ticket));
        check(job.wait(ticket));
        stream.wait();
    }
    meet(board, rank, size);
    if (rank == size - 1) {
        check(start(&ticket));
        for (int i = 0; i < 20; ++i) {
            if (batchai_coll_ticket_test(job.queue(), ticket) != BATCHAI_COLL_IN_PROGRESS) break;
        }
        ::raise(SIGKILL);
    }
    batchai_coll_status status = BATCHAI_COLL_OK;
    while (status == BATCHAI_COLL_OK) {
        status = start(&ticket);
        if (status == BATCHAI_COLL_OK) status = job.wait(ticket);
    }
    expect(BATCHAI_COLL_ERR_PEER, status, "a rank was killed");
    expect_said("rank " + std::to_string(size - 1));
    job.leave();
}

const Registered kKilled{
    "queue_killed_rank", false, [] {
        for (const Place place : places()) {
            for (const auto& shape : kShapes) {
                const int size = std::accumulate(shape.begin(), shape.end(), 0);
                run_ranks_and_lose_one(
                    shape, [&](int rank, Board& board) { lose_one(rank, size, board, place); });
            }
        }
    }};

}  // namespace
