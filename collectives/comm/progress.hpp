// SPDX-License-Identifier: Apache-2.0
//
// The progress page: says what a rank is doing in this library. It is a file that the launcher
// makes and reads at any time, without help from the rank, which may be stuck or stopped.
//
// The launcher makes the file, kProgressBytes zeros, private to the user, and names it to the rank
// in BATCHAI_COLL_PROGRESS. The rank maps it in init; without the variable, or where the file is
// not as it should be, it writes to memory of its own. The last process of a rank that has called
// init owns the page. Layout: ProgressPage, in the machine's own byte order; another layout has
// another magic number.
//
// A write is a few plain stores to a cache line of its own: no lock, allocation, clock or system
// call. The reader measures times itself, by reading `moves` now and then. `sequence` is odd while
// stores are under way. Then the reader tries again; if the rank was stopped in the middle, the
// reader takes what was written by then. The reader does not map the file: if the rank truncated
// it, the mapping would end the reader by SIGBUS.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/common/call.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::coll {

inline constexpr char kProgressVariable[] = "BATCHAI_COLL_PROGRESS";
inline constexpr std::size_t kProgressBytes = 4096;
// Python ranks write the stacks of their threads to the page's name and this, on this signal
// (horovod/common/stacks.py). The kernel has 1 to 64; no other library is known to use it.
inline constexpr char kStackSuffix[] = ".stack";
inline constexpr int kStackSignal = 57;

enum class Stage : std::uint8_t {
    none,     // init was not called
    joining,  // in init
    idle,     // in no operation
    begun,    // in an operation
    left,     // finalize was called, or there was a failure
};

// Whether a rank waits for other ranks. inside: it is in a call that waits for an operation.
constexpr bool waits(Stage stage, bool inside) {
    return stage == Stage::joining || (stage == Stage::begun && inside);
}

struct ProgressPage {
    static constexpr std::uint64_t kMagic = 0x3230304c4c4f4342;  // "BCOLL002"
    static constexpr int kMissing = 16;
    static constexpr std::size_t kLabel = 64;

    std::atomic<std::uint64_t> magic;
    std::atomic<std::uint64_t> sequence;
    std::atomic<std::uint64_t> moves;   // grows with all that happens
    std::atomic<std::uint32_t> inside;  // 1: in a call that waits for an operation's end
    std::int32_t pid;
    std::uint64_t epoch;      // counts the calls of init, from 1
    std::uint64_t operation;  // that was begun last; 0: none
    Signature signature;      // of the operation
    Stage stage;
    std::uint8_t certain;         // the ranks below are missing, and not one of their neighbours
    std::uint16_t missing_count;  // may be more than are listed
    std::int32_t missing[kMissing];
    char label[kLabel];  // the program's label for the operation; empty: none
};
static_assert(sizeof(ProgressPage) <= kProgressBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Owner of a page that is mapped.
class MappedPage {
  public:
    MappedPage() = default;
    explicit MappedPage(const sys::UniqueFd& fd);
    MappedPage(MappedPage&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}
    MappedPage& operator=(MappedPage&& other) noexcept {
        std::swap(page_, other.page_);
        return *this;
    }
    MappedPage(const MappedPage&) = delete;
    MappedPage& operator=(const MappedPage&) = delete;
    ~MappedPage();

    ProgressPage* get() const { return page_; }  // null: it could not be mapped

  private:
    ProgressPage* page_ = nullptr;
};

// The writer's side.
class Progress {
  public:
    // shown: maps the file that the environment names. A communicator of some ranks of the job
    // counts in memory of its own: its numbers would not match those of the other ranks.
    explicit Progress(bool shown = true);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress();

    void begin(std::uint64_t operation, const Signature& signature);
    void complete();
    void leave() { enter(Stage::left); }
    void joined() { enter(Stage::idle); }
    void set_inside(bool inside) {
        page_->inside.store(inside, std::memory_order_relaxed);
        move();
    }
    // Part of an operation was done.
    void move() {
        const auto moves = page_->moves.load(std::memory_order_relaxed);
        page_->moves.store(moves + 1, std::memory_order_relaxed);
    }
    void wait_for(const std::vector<int>& ranks, bool certain);
    void label(const char* text);
    const char* label() const { return page_->label; }  // of ProgressPage::kLabel bytes

  private:
    template <class Change>
    void write(Change change);
    void enter(Stage stage);

    ProgressPage own_{};
    MappedPage mapped_;
    ProgressPage* page_;
};

// The reader's side: a copy of the page, in which everything is within its bounds.
struct ProgressCopy {
    std::uint64_t moves = 0, epoch = 0, operation = 0;
    Signature signature;
    Stage stage = Stage::none;
    bool inside = false, certain = false;
    bool whole = true;  // false: the rank stands still, or is slow, in the middle of a change
    int pid = 0;
    std::vector<int> missing;
    std::string label;

    bool waits() const { return coll::waits(stage, inside); }
};

// None: the file is not such a page, or no rank has written to it.
std::optional<ProgressCopy> read_progress(const sys::UniqueFd& file);

}  // namespace batchai::coll
