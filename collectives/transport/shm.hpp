// SPDX-License-Identifier: Apache-2.0
//
// Segment: memory that the ranks of a node share. Node: one rank's view of its contents.
//
// The segment is a memfd, which needs no /dev/shm and disappears with its last user. It is
// allocated at once, so that a lack of memory is an error here, not a SIGBUS later. Peers open it
// through /proc/PID/fd, which the kernel allows to processes of the same user in the same user
// namespace. In containers, each rank may have its own user namespace. The segment is then a file
// in /dev/shm, until all ranks have opened it.
//
// The protocol. Every counter and slot has one writer, its owner; other ranks only read. Counters
// contain numbers of chunks, start from 1, only grow and are never reset. For each chunk a rank
//   1. copies its data into its in slot          and stores `copied`
//      (or leaves it where all can address it: algorithm/placed.hpp and algorithm/straight.hpp)
//   2. a reducer makes the result in the out slot and stores `reduced`
//      (straight: a rank copies its blocks from the others' buffers)
//   3. reads what it needs from all slots        and stores `taken`.
// Stores are releases and loads are acquires. So a rank that sees the counter sees the slot as it
// was before the store, and all that the writer had seen by then. A slot is used again for chunk k
// + kSlots only when every rank has stored taken >= k. The release of `taken` comes after the
// rank's reads of the slot, and the slot's owner acquires it before the next writes. So no reader
// sees these writes. Messages count as reads and writes of the rank that has posted them: it stores
// `reduced` and `taken` after they are done. No other order is needed. No rank sleeps on a counter,
// so no wake-up can be lost. TSan checks the protocol: tests/unit/collectives/threads.cpp.
//
// An operation begins with `enter`: the rank writes the number and signature into its entry. Short
// data goes with them, into the entry or into the rank's eager buffer. Each rank has two entries
// and two halves of an eager buffer, used in turn. A rank writes the entry of operation n only
// after all ranks have entered n - 1. By then they have left n - 2, whose entry it overwrites.
// (Pipeline completes no operation before all ranks of the node have entered it.)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "collectives/common/call.hpp"
#include "collectives/common/chunking.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::coll {

// Bytes that are available for programs, as reported by the kernel. If programs allocate more, the
// kernel kills some of them.
std::size_t available_memory();

class Segment {
  public:
    static sys::Result<Segment> create(std::size_t bytes);
    // Allocates only the first `at_once` bytes. Call allocate_all() for the others, before close().
    static sys::Result<Segment> create(std::size_t bytes, std::size_t at_once);
    sys::Result<void> allocate_all();
    // Fills this process's page table for the first `bytes`. Before Linux 5.14 it does nothing.
    void fault_in(std::size_t bytes);
    // Maps a segment that another process has created. path, bytes: its path and size there.
    static sys::Result<Segment> open(const std::string& path, std::size_t bytes);

    Segment(Segment&& other) noexcept;
    Segment& operator=(Segment&& other) noexcept;
    ~Segment();

    // The same mapping, for another rank that is a thread of this process. The alias must end
    // before this segment.
    Segment alias() const;

    std::byte* data() const { return data_; }
    std::size_t size() const { return bytes_; }
    // The path at which other processes can open a segment from create(), until close().
    std::string path() const;
    void close();  // the mapping stays

  private:
    Segment(std::byte* data, std::size_t bytes, sys::UniqueFd fd)
        : data_(data), bytes_(bytes), fd_(std::move(fd)) {}
    static sys::Result<Segment> map(sys::UniqueFd fd, std::size_t bytes);

    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
    bool is_alias_ = false;  // another Segment owns the mapping
    sys::UniqueFd fd_;
    std::string file_;  // the file to remove; empty: none
};

class Node {
  public:
    // 128 bytes apart: adjacent lines are fetched in pairs.
    struct alignas(128) Counter {
        std::atomic<std::uint64_t> value;
    };
    static constexpr std::size_t kEntry = 256;
    // Bytes of data that fit beside a signature.
    static constexpr std::size_t kInline =
        kEntry - sizeof(std::atomic<std::uint64_t>) - sizeof(Signature);
    struct alignas(128) Entry {
        std::atomic<std::uint64_t> operation;
        Signature signature;
        std::byte data[kInline];
    };
    static_assert(sizeof(Entry) == kEntry);
    // Bytes of data that fit into an eager buffer, for data of more than kInline bytes.
    static constexpr std::size_t kEager = 16u << 10;

    static std::size_t bytes_needed(int local_size, std::size_t slot_bytes);
    // The segment must be zero, or in use by other Nodes with the same arguments.
    Node(Segment segment, int local_rank, int local_size, std::size_t slot_bytes);

    int rank() const { return rank_; }
    int size() const { return size_; }
    std::size_t slot_bytes() const { return slot_bytes_; }
    // Sets the size of slots, at most the size given to the constructor. Call it on all of the
    // node's ranks, before the first operation. Smaller slots use only the first part of the
    // memory.
    void resize_slots(std::size_t slot_bytes) { slot_bytes_ = slot_bytes; }
    sys::Result<void> allocate_all() { return segment_.allocate_all(); }
    // So that operations do not wait for page faults in the slots. Leaves larger slots out, because
    // Slurm counts the pages of each rank. Call it after resize_slots.
    void fault_in();

    // `data`, at most kEager bytes, goes with the entry.
    void enter(std::uint64_t operation, const Signature& signature,
               std::span<const std::byte> data = {});
    // The rank's entry; null: it has not entered the operation yet.
    const Entry* entered(int rank, std::uint64_t operation) const;
    // The `bytes` of data that went with the entry.
    const std::byte* data(int rank, std::uint64_t operation, std::size_t bytes) const {
        if (bytes <= kInline) return ranks_[rank].entries[operation % 2].data;
        return eager_buffer(rank, operation);
    }

    // Grows as long as the rank's watchdog runs.
    Counter& beats(int rank) { return ranks_[rank].beats; }
    // 1: the rank's rail is connected.
    Counter& connected(int rank) { return ranks_[rank].connected; }
    Counter& copied(int rank) { return ranks_[rank].copied; }
    Counter& reduced(int rank) { return ranks_[rank].reduced; }
    Counter& taken(int rank) { return ranks_[rank].taken; }
    void publish(Counter& counter, std::uint64_t chunk) {
        counter.value.store(chunk, std::memory_order_release);
    }
    static bool reached(const Counter& counter, std::uint64_t chunk) {
        return counter.value.load(std::memory_order_acquire) >= chunk;
    }
    bool all_copied(std::uint64_t chunk) const;
    // Whether the slots of this chunk may be written.
    bool slot_free(std::uint64_t chunk) const;

    std::byte* in_slot(int rank, std::uint64_t chunk) const {
        return slots_ + (static_cast<std::size_t>(rank) * kSlots + chunk % kSlots) * slot_bytes_;
    }
    std::byte* out_slot(std::uint64_t chunk) const { return in_slot(size_, chunk); }

    // The path at which other ranks open the segment. Call close() after all of them have.
    std::string path() const { return segment_.path(); }
    void close() { segment_.close(); }

    // Reports a failure to all ranks of the node. The first one is final; returns that one. What
    // this rank writes afterwards, another rank sees only with the failure. Any thread may call it.
    Failure fail(const Failure& failure);
    std::optional<Failure> failure() const;
    bool failed() const { return head_->failed.load(std::memory_order_acquire) != 0; }

  private:
    // A rank writes its report and then offers it, so a rank that dies meanwhile blocks no report.
    struct alignas(128) Head {
        std::atomic<int> failed;  // 0, or 1 + the local rank whose report was the first
    };
    struct Report {
        int status;
        char sentence[512];
    };
    struct Rank {
        Report report;
        Entry entries[2];
        Counter beats, connected, copied, reduced, taken;
    };

    std::byte* eager_buffer(int rank, std::uint64_t operation) const {
        return eager_buffers_ + (static_cast<std::size_t>(rank) * 2 + operation % 2) * kEager;
    }

    Segment segment_;
    std::mutex reporting_;  // this rank's threads
    int rank_, size_;
    std::size_t slot_bytes_;
    Head* head_;
    Rank* ranks_;
    std::byte* eager_buffers_;
    std::byte* slots_;
};

}  // namespace batchai::coll
