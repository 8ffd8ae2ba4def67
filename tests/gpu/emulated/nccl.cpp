// SPDX-License-Identifier: Apache-2.0
//
// NCCL between emulated GPUs: ranks meet in memory that the maker of an id has, and bring their
// data there piece by piece. As NCCL's communicators that do not block: a call returns at once, and
// a thread of the communicator's own waits for the other ranks and puts the operation into its
// stream, a little later. A communicator's end waits for its operations in streams.
#include <nccl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include "emulation.hpp"
#include "nccl_types.hpp"
#include "worker.hpp"

namespace {

constexpr int kMostRanks = 8;
constexpr std::size_t kPiece = 256u << 10;  // bytes

// Zeros at first.
struct Meeting {
    std::atomic<int> joined, finished;
    std::atomic<std::uint64_t> arrived[2];  // at the two gates of a piece, all ranks together
    std::byte pieces[kMostRanks][kPiece];
};

struct Address {
    int process, file;
};

}  // namespace

struct ncclComm {
    ncclComm(Meeting& where, int own, int all, int on) : meeting(where), rank(own), ranks(all) {
        worker.add([this, on] {
            (void)cudaSetDevice(on);
            ++meeting.joined;
            wait_for(meeting.joined);
        });
    }

    void wait_for(const std::atomic<int>& count) const {
        while (count < ranks && !is_aborted) ::usleep(50);
    }
    void wait_for_operations() const {
        emulation::wait_for_all_streams();
        while (operations.use_count() > 1) ::usleep(50);
    }
    ncclResult_t begin(std::function<void()> what) {
        if (!worker.is_idle()) return ncclInvalidUsage;  // the caller is to ask for the state first
        worker.add([this, what = std::move(what)] {
            ::usleep(random() % 300);
            what();
        });
        return ncclInProgress;
    }

    // All ranks' data, a piece at a time: use(piece, bytes) once all of it is there.
    template <class Use>
    void exchange(const std::byte* from, std::size_t bytes, Use use) {
        for (std::size_t at = 0; at < bytes; at += kPiece) {
            const std::size_t now = std::min(kPiece, bytes - at);
            std::memcpy(meeting.pieces[rank], from + at, now);
            pass(0);
            if (is_aborted) return;
            use(at, now);
            pass(1);
        }
    }
    void pass(int gate) {
        const std::uint64_t all = static_cast<std::uint64_t>(ranks);
        const std::uint64_t wanted = (meeting.arrived[gate]++ / all + 1) * all;
        while (meeting.arrived[gate] < wanted && !is_aborted) std::this_thread::yield();
    }

    Meeting& meeting;
    const int rank, ranks;
    std::atomic<bool> is_aborted = false;
    // Which operations have, too, in streams.
    std::shared_ptr<void> operations = std::make_shared<int>();
    std::minstd_rand random;   // the worker's
    emulation::Worker worker;  // last, as it uses the others
};

namespace {

Meeting* open_meeting(int process, int file) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", process, file);
    std::FILE* const opened = std::fopen(path, "r+e");
    if (opened == nullptr) return nullptr;
    void* memory =
        ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, ::fileno(opened), 0);
    std::fclose(opened);
    return memory == MAP_FAILED ? nullptr : static_cast<Meeting*>(memory);
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t) {
    return "an error of the emulated NCCL";
}
const char* ncclGetLastError(ncclComm_t) {
    return "";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    const int file = ::memfd_create("NCCL", MFD_CLOEXEC);  // until the process ends
    if (file < 0 || ::ftruncate(file, sizeof(Meeting)) != 0) return ncclSystemError;
    const Address address{::getpid(), file};
    std::memcpy(id, &address, sizeof address);
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
    Address address;
    std::memcpy(&address, &id, sizeof address);
    Meeting* const meeting = open_meeting(address.process, address.file);
    if (meeting == nullptr || ranks > kMostRanks || config->blocking != 0) return ncclSystemError;
    *comm = new ncclComm(*meeting, rank, ranks, emulation::current_gpu());
    return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
    *state = comm->worker.is_idle() ? ncclSuccess : ncclInProgress;
    return ncclSuccess;
}

ncclResult_t ncclReduceScatter(const void* send, void* receive, std::size_t count,
                               ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
    const auto body = [=, lives = comm->operations] {
        const auto [element, reduce] = emulation::type_of(type);
        const std::size_t bytes = count * element;
        const std::size_t own = static_cast<std::size_t>(comm->rank) * bytes;
        comm->exchange(static_cast<const std::byte*>(send),
                       bytes * static_cast<std::size_t>(comm->ranks),
                       [&, reduce = reduce, element = element](std::size_t at, std::size_t now) {
                           const std::size_t begin = std::max(at, own);
                           const std::size_t end = std::min(at + now, own + bytes);
                           if (begin >= end) return;
                           reduce(comm->meeting.pieces[0] + (begin - at), kPiece, comm->ranks,
                                  (end - begin) / element, op,
                                  static_cast<std::byte*>(receive) + (begin - own));
                       });
    };
    return comm->begin([=] { emulation::enqueue(stream, body); });
}

ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
    const auto body = [=, lives = comm->operations] {
        const std::size_t bytes = count * emulation::type_of(type).bytes;
        comm->exchange(
            static_cast<const std::byte*>(send), bytes, [&](std::size_t at, std::size_t now) {
                for (int r = 0; r < comm->ranks; ++r) {
                    std::byte* const block =
                        static_cast<std::byte*>(receive) + static_cast<std::size_t>(r) * bytes;
                    std::memcpy(block + at, comm->meeting.pieces[r], now);
                }
            });
    };
    return comm->begin([=] { emulation::enqueue(stream, body); });
}

ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
    const auto body = [=, lives = comm->operations] {
        const auto [element, reduce] = emulation::type_of(type);
        comm->exchange(static_cast<const std::byte*>(send), count * element,
                       [&, reduce = reduce, element = element](std::size_t at, std::size_t now) {
                           reduce(comm->meeting.pieces[0], kPiece, comm->ranks, now / element, op,
                                  static_cast<std::byte*>(receive) + at);
                       });
    };
    return comm->begin([=] { emulation::enqueue(stream, body); });
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
    return comm->begin([comm] {
        comm->wait_for_operations();
        ++comm->meeting.finished;
        comm->wait_for(comm->meeting.finished);
    });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    delete comm;
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
    comm->is_aborted = true;
    comm->worker.wait();  // it puts no more into streams
    comm->wait_for_operations();
    delete comm;
    return ncclSuccess;
}

}  // extern "C"
