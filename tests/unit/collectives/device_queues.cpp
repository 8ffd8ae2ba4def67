// SPDX-License-Identifier: Apache-2.0
//
// Queues of real processes whose tensors are in the memory of HostDevices: orders of the callers'
// streams come before and after the operations, late as they are done; fused and alone, negotiated
// and scheduled; and what is wrong is said on all ranks.
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "collectives/queue/queue.hpp"
#include "ends.hpp"
#include "host_device.hpp"
#include "processes.hpp"
#include "value_of.hpp"

using namespace batchai::coll;

namespace {

constexpr std::size_t kFusion = 16u << 10;  // bytes
constexpr std::size_t kMemory = 1u << 20;

// One rank's part.
class Trainer {
  public:
    Trainer(Board& board, int rank, int size)
        : comm_(value_of(
              Communicator::create(std::make_unique<BoardBootstrap>(board, 0, rank, size)))),
          device_(std::make_shared<HostDevice>(static_cast<std::uint64_t>(rank) + 1)),
          memory_(value_of(device_->allocate(kMemory))),
          host_(value_of(device_->allocate_pinned(kMemory))),
          stream_(value_of(device_->make_stream())),
          event_(value_of(device_->make_event())),
          random_(static_cast<unsigned>(rank)),
          devices_(
              *comm_,
              [this](int) -> batchai::sys::Result<Gpu> {
                  return Gpu{device_, nullptr};
              },
              [this](const std::string& plan) { plan_ = plan; }, kFusion),
          queue_(comm_->engine(), comm_->progress(), comm_->topology(), options(size)) {}

    // Of the GPUs; empty: they have not found each other yet.
    const std::string& plan() const { return plan_; }
    int rank() const { return comm_->topology().rank; }
    int size() const { return comm_->topology().size; }
    Queue& queue() { return queue_; }

    // A tensor's place in the memory and, the same, on the host; of some alignment.
    struct Tensor {
        std::size_t at = 0, count = 0;
        batchai_coll_type type = BATCHAI_COLL_FLOAT32;  // or INT32
        batchai_coll_op op = BATCHAI_COLL_SUM;
    };

    // What a tensor is before on this rank; what it is to be then.
    int number(const Tensor& tensor, std::size_t i) const {
        return static_cast<int>(i % 7 + tensor.count % 5) + rank();
    }
    int expected(const Tensor& tensor, std::size_t i) const {
        const int sum = size() * (number(tensor, i) - rank()) + size() * (size() - 1) / 2;
        return tensor.op == BATCHAI_COLL_AVERAGE ? sum / size() : sum;
    }

    // Orders the tensor's numbers to be brought to the device, and submits it.
    Submission* submit(const std::string& name, const std::vector<Tensor>& tensors) {
        std::vector<Part> parts;
        for (const Tensor& tensor : tensors) {
            for (std::size_t i = 0; i < tensor.count; ++i) {
                write(host_ + tensor.at, tensor.type, i, number(tensor, i));
            }
            value_of(
                device_->copy(memory_ + tensor.at, host_ + tensor.at, 4 * tensor.count, stream_));
            parts.push_back(part(tensor, memory_ + tensor.at));
        }
        value_of(devices_.device(0));
        return queue_.submit({.name = name,
                              .parts = parts,
                              .mark = value_of(devices_.mark(stream_)),
                              .stream = stream_});
    }
    // Two tensors of 10 and 20 numbers that are nowhere on the device.
    Submission* submit_elsewhere(const std::string& name) {
        static float numbers[30];
        auto* memory = reinterpret_cast<std::byte*>(numbers);
        const std::vector<Part> parts = {part({0, 10}, memory), part({0, 20}, memory + 40)};
        return queue_.submit({.name = name,
                              .parts = parts,
                              .mark = value_of(devices_.mark(stream_)),
                              .stream = stream_});
    }
    // As submit(), of one in the host's memory.
    Submission* submit_on_host(const std::string& name, const Tensor& tensor) {
        const Part one = part(tensor, host_ + tensor.at);
        return queue_.submit({.name = name, .parts = std::span(&one, 1)});
    }

    // Why it has failed; nothing if it has not.
    std::string wait(Submission* submission) {
        std::string sentence;
        return queue_.wait(submission, sentence) == BATCHAI_COLL_OK ? "" : sentence;
    }
    std::string end(Submission* submission) {
        if (random_() % 2 == 0) return wait(submission);
        std::string sentence;
        for (;;) {
            const auto status = queue_.test(submission, sentence);
            if (status == BATCHAI_COLL_OK) return "";
            if (status != BATCHAI_COLL_IN_PROGRESS) return sentence;
            std::this_thread::yield();
        }
    }

    // Orders the results to be brought back, behind what the queue has ordered, and looks at them.
    std::string look_at(const std::vector<Tensor>& tensors) {
        for (const Tensor& tensor : tensors) {
            value_of(
                device_->copy(host_ + tensor.at, memory_ + tensor.at, 4 * tensor.count, stream_));
        }
        value_of(device_->record(event_, stream_));
        while (!value_of(device_->query(event_))) std::this_thread::yield();
        for (const Tensor& tensor : tensors) {
            for (std::size_t i = 0; i < tensor.count; ++i) {
                if (read(host_ + tensor.at, tensor.type, i) != expected(tensor, i)) {
                    return "a wrong result";
                }
            }
        }
        return "";
    }

    // A step of training: all of them, in any order.
    std::string train(const std::vector<Tensor>& tensors) {
        std::vector<std::size_t> order(tensors.size());
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random_);
        std::vector<Submission*> submissions;
        for (const std::size_t i : order) {
            submissions.push_back(submit("tensor " + std::to_string(i), {tensors[i]}));
        }
        // Who asks instead may not count as waiting at the end of each step.
        if (std::string wrong = wait(submissions.back()); !wrong.empty()) return wrong;
        submissions.pop_back();
        for (Submission* submission : submissions) {
            if (std::string wrong = end(submission); !wrong.empty()) return wrong;
        }
        return look_at(tensors);
    }

    // After which the communicator can be used for something else.
    std::string close() {
        const Failure failure = queue_.close();
        if (failure.status != BATCHAI_COLL_OK) return failure.sentence;
        return comm_->finalize().sentence;
    }

  private:
    Dispatcher::Options options(int size) {
        Dispatcher::Options options;
        options.fusion_bytes = kFusion;
        options.numbers.resize(static_cast<std::size_t>(size));
        std::iota(options.numbers.begin(), options.numbers.end(), 0);
        options.devices = &devices_;
        return options;
    }
    static Part part(const Tensor& tensor, std::byte* memory) {
        Part part;
        part.signature.kind = Kind::allreduce;
        part.signature.type = static_cast<std::uint8_t>(tensor.type);
        part.signature.op = static_cast<std::uint8_t>(tensor.op);
        part.signature.count = tensor.count;
        part.send = part.receive = memory;
        return part;
    }
    static void write(std::byte* memory, batchai_coll_type type, std::size_t i, int number) {
        if (type == BATCHAI_COLL_INT32) {
            reinterpret_cast<std::int32_t*>(memory)[i] = number;
        } else {
            reinterpret_cast<float*>(memory)[i] = static_cast<float>(number);
        }
    }
    static int read(const std::byte* memory, batchai_coll_type type, std::size_t i) {
        return type == BATCHAI_COLL_INT32
                   ? reinterpret_cast<const std::int32_t*>(memory)[i]
                   : static_cast<int>(reinterpret_cast<const float*>(memory)[i]);
    }

    std::unique_ptr<Communicator> comm_;
    std::shared_ptr<HostDevice> device_;
    std::byte *memory_, *host_;
    Device::Stream stream_;
    Device::Event event_;
    std::mt19937 random_;
    std::string plan_;
    DeviceMessages devices_;
    Queue queue_;
};

// Tensors of these counts of numbers, one after another, at any address aligned for numbers.
std::vector<Trainer::Tensor> tensors_of(const std::vector<std::size_t>& counts) {
    std::vector<Trainer::Tensor> tensors;
    std::size_t at = 0;
    for (const std::size_t count : counts) {
        tensors.push_back({at, count});
        at += 4 * count;
    }
    return tensors;
}

std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(device_queues)

BOOST_AUTO_TEST_CASE(steps_of_training_are_right_and_become_a_schedule) {
    for (const std::vector<int>& nodes : {std::vector<int>{1}, {2}, {1, 1}, {2, 2}, {2, 1}}) {
        Processes job(nodes);
        const std::string trace = "/tmp/device_queues." + std::to_string(::getpid()) + ".json";
        BOOST_TEST_CONTEXT(nodes.size() << " nodes, " << job.size() << " ranks") {
            expect_well(job.run([&](int rank, Board& board) -> std::string {
                Trainer trainer(board, rank, job.size());
                if (rank == 0) value_of(trainer.queue().trace(trace, true));
                // Small ones to be fused, some that fill the buffer, one that is larger.
                auto tensors = tensors_of(
                    {1, 3, 500, 7, 1000, 2000, 33, 4096, 4095, 20'000, 5, 1, 64, 2, 0, 9});
                tensors[3].type = tensors[10].type = tensors[14].type = BATCHAI_COLL_INT32;
                tensors[6].op = tensors[7].op = BATCHAI_COLL_AVERAGE;
                tensors[5].op = BATCHAI_COLL_AVERAGE;
                tensors[5].type = BATCHAI_COLL_INT32;
                for (int step = 0; step < 40; ++step) {
                    if (auto wrong = trainer.train(tensors); !wrong.empty()) {
                        return wrong + " in step " + std::to_string(step);
                    }
                }
                return trainer.close();
            }));
            BOOST_TEST(text_of(trace).find("CYCLE") != std::string::npos);
        }
        std::filesystem::remove(trace);
    }
}

// Beside the above, more copies than one order takes; then something else, which is vetoed.
BOOST_AUTO_TEST_CASE(a_job_may_change_its_mind) {
    Processes job({2, 2});
    expect_well(job.run([&](int rank, Board& board) -> std::string {
        Trainer trainer(board, rank, job.size());
        const auto many = tensors_of(std::vector<std::size_t>(300, 2));
        const auto few = tensors_of({300, 20, 1});
        for (const auto* tensors : {&many, &few, &many}) {
            for (int step = 0; step < 6; ++step) {
                if (auto wrong = trainer.train(*tensors); !wrong.empty()) return wrong;
            }
        }
        return trainer.close();
    }));
}

BOOST_AUTO_TEST_CASE(a_group_goes_together_whatever_its_types) {
    Processes job({2, 1});
    expect_well(job.run([&](int rank, Board& board) -> std::string {
        Trainer trainer(board, rank, job.size());
        auto tensors = tensors_of({10, 20, 30, 4000, 4000, 10'000, 1, 2});
        tensors[1].type = tensors[2].type = BATCHAI_COLL_INT32;
        for (int step = 0; step < 8; ++step) {
            if (auto wrong = trainer.end(trainer.submit("group", tensors)); !wrong.empty()) {
                return wrong;
            }
            if (auto wrong = trainer.look_at(tensors); !wrong.empty()) return wrong;
        }
        return trainer.close();
    }));
}

BOOST_AUTO_TEST_CASE(memory_of_a_gpu_and_of_the_host_do_not_go_together) {
    Processes job({1, 1});
    expect_well(job.run([&](int rank, Board& board) -> std::string {
        Trainer trainer(board, rank, job.size());
        const Trainer::Tensor tensor{0, 10};
        Submission* odd =
            rank == 0 ? trainer.submit("odd", {tensor}) : trainer.submit_on_host("odd", tensor);
        const std::string sentence = trainer.end(odd);
        if (sentence.find("rank 0 has allreduce (sum) of 10 float32 on GPUs, rank 1 has allreduce "
                          "(sum) of 10 float32") == std::string::npos) {
            return "said: " + sentence;
        }
        if (!trainer.plan().empty()) return "there are GPUs already";
        if (auto wrong = trainer.train({tensor}); !wrong.empty()) return wrong;
        if (trainer.plan().empty()) return "there is no plan";
        // One name, first there, then here: in the host's memory is what comes back from the GPU.
        if (auto wrong = trainer.end(trainer.submit_on_host("tensor 0", tensor)); !wrong.empty()) {
            return wrong;
        }
        if (auto wrong = trainer.train({tensor}); !wrong.empty()) return wrong;
        return trainer.close();
    }));
}

// Memory of another one, as nothing but the C interface looks at it before.
BOOST_AUTO_TEST_CASE(a_failure_of_one_gpu_is_an_error_on_all_ranks) {
    Processes job({2, 1});
    expect_well(job.run([&](int rank, Board& board) -> std::string {
        Trainer trainer(board, rank, job.size());
        const auto tensors = tensors_of({10, 20});
        if (auto wrong = trainer.train(tensors); !wrong.empty()) return wrong;
        const std::string sentence = rank == 1 ? trainer.end(trainer.submit_elsewhere("group"))
                                               : trainer.end(trainer.submit("group", tensors));
        const bool named = sentence.find("rank 1: a copy: ") != std::string::npos;
        return named ? "" : "said: " + sentence;
    }));
}

BOOST_AUTO_TEST_CASE(a_rank_that_dies_is_named) {
    Processes job({2, 1});
    const auto ends = job.run([&](int rank, Board& board) -> std::string {
        Trainer trainer(board, rank, job.size());
        const auto tensors = tensors_of({10, 5000, 20'000});
        for (int step = 0;; ++step) {
            if (rank == 1 && step == 3) ::kill(::getpid(), SIGKILL);
            const std::string sentence = trainer.train(tensors);
            if (sentence.empty()) continue;
            return sentence.find("rank 1") != std::string::npos ? "" : "said: " + sentence;
        }
    });
    BOOST_TEST(ends[0] == "");
    BOOST_TEST(ends[2] == "");
}

BOOST_AUTO_TEST_SUITE_END()
