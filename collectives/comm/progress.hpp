// SPDX-License-Identifier: Apache-2.0
//
// The progress page: the current activity of a rank in this library. It is a file that the launcher
// makes and reads at any time, without help from the rank, which may hang or be stopped.
//
// The launcher makes the file with kProgressBytes zeros, private to the user, and names it in
// BATCHAI_COLL_PROGRESS. The rank maps it in init. Without the variable, or if the file is
// unsuitable, the rank writes to its own memory. The last process of a rank that has called init
// owns the page. Layout: ProgressPage, in the machine's own byte order; another layout has another
// magic number.
//
// A write is a few plain stores to a separate cache line: no lock, allocation, clock or system
// call. The reader measures times itself, by reading `moves` repeatedly. `sequence` is odd during a
// write; the reader then tries again. If the rank was stopped during the write, the reader uses the
// values written so far. The reader does not map the file: if the rank truncated the file, a
// mapping would end the reader by SIGBUS.
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
// On this signal, Python ranks write the stacks of their threads to a file
// (collectives/python/startup). Its name is the page's name and this suffix. Linux has signals 1 to
// 64; no other library is known to use this one.
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
    static constexpr std::uint64_t kMagic = 0x3330304c4c4f4342;  // "BCOLL003"
    static constexpr int kMissing = 16;
    static constexpr std::size_t kLabel = 64;

    std::atomic<std::uint64_t> magic;
    std::atomic<std::uint64_t> sequence;
    std::atomic<std::uint64_t> moves;   // increases with every progress
    std::atomic<std::uint32_t> inside;  // 1: in a call that waits for an operation's end
    std::int32_t pid;
    std::uint64_t epoch;      // number of calls of init, from 1
    std::uint64_t operation;  // the last one that began; 0: none
    Signature signature;      // of the operation
    Stage stage;
    std::uint8_t certain;         // false: the culprit may be a neighbour of the missing ranks
    std::uint16_t missing_count;  // may be larger than the list
    std::int32_t missing[kMissing];
    char label[kLabel];  // the program's label for the operation; empty: none
};
static_assert(sizeof(ProgressPage) <= kProgressBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Owns a mapped page.
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
    // counts in its own memory, because its numbers would not match those of other ranks.
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
    // An operation made progress.
    void move() {
        const auto moves = page_->moves.load(std::memory_order_relaxed);
        page_->moves.store(moves + 1, std::memory_order_relaxed);
    }
    void wait_for(const std::vector<int>& ranks, bool certain);
    void label(const char* text);
    const char* label() const { return page_->label; }  // ProgressPage::kLabel bytes

  private:
    template <class Change>
    void write(Change change);
    void enter(Stage stage);

    ProgressPage own_{};
    MappedPage mapped_;
    ProgressPage* page_;
};

// The reader's side: a copy of the page, with all values within their bounds.
struct ProgressCopy {
    std::uint64_t moves = 0, epoch = 0, operation = 0;
    Signature signature;
    Stage stage = Stage::none;
    bool inside = false, certain = false;
    bool whole = true;  // false: the rank is stopped, or slow, during a write
    int pid = 0;
    std::vector<int> missing;
    std::string label;

    bool waits() const { return coll::waits(stage, inside); }
};

// nullopt: the file is not a progress page, or no rank has written to it.
std::optional<ProgressCopy> read_progress(const sys::UniqueFd& file);

}  // namespace batchai::coll
