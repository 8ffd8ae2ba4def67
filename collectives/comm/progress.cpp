// SPDX-License-Identifier: Apache-2.0
#include "collectives/comm/progress.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace batchai::coll {
namespace {

constexpr int kTries = 1000;

MappedPage map_named_page() {
    const char* path = std::getenv(kProgressVariable);
    if (path == nullptr || *path == '\0') return {};
    const sys::UniqueFd fd(::open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size != static_cast<off_t>(kProgressBytes) || status.st_uid != ::geteuid()) {
        return {};
    }
    return MappedPage(fd);
}

}  // namespace

MappedPage::MappedPage(const sys::UniqueFd& fd) {
    void* data = ::mmap(nullptr, kProgressBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (data != MAP_FAILED) page_ = static_cast<ProgressPage*>(data);
}

MappedPage::~MappedPage() {
    if (page_ != nullptr) ::munmap(page_, kProgressBytes);
}

Progress::Progress(bool shown)
    : mapped_(shown ? map_named_page() : MappedPage()),
      page_(mapped_.get() != nullptr ? mapped_.get() : &own_) {
    page_->magic.store(ProgressPage::kMagic, std::memory_order_relaxed);
    page_->inside.store(0, std::memory_order_relaxed);
    page_->sequence.store(page_->sequence.load(std::memory_order_relaxed) & ~1ULL,
                          std::memory_order_relaxed);  // a killed process may leave it odd
    write([](ProgressPage& page) {
        page.pid = ::getpid();
        ++page.epoch;
        page.operation = 0;
        page.signature = {};
        page.label[0] = '\0';
    });
    enter(Stage::joining);
}

Progress::~Progress() {
    leave();
}

template <class Change>
void Progress::write(Change change) {
    const auto sequence = page_->sequence.load(std::memory_order_relaxed);
    page_->sequence.store(sequence + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    change(*page_);
    page_->sequence.store(sequence + 2, std::memory_order_release);
}

void Progress::enter(Stage stage) {
    write([stage](ProgressPage& page) {
        page.stage = stage;
        page.missing_count = 0;
    });
    move();
}

void Progress::begin(std::uint64_t operation, const Signature& signature) {
    write([&](ProgressPage& page) {
        page.operation = operation;
        page.signature = signature;
        page.stage = Stage::begun;
        page.missing_count = 0;
    });
    move();
}

void Progress::complete() {
    enter(Stage::idle);
}

void Progress::wait_for(const std::vector<int>& ranks, bool certain) {
    write([&](ProgressPage& page) {
        page.certain = certain;
        page.missing_count = static_cast<std::uint16_t>(std::min<std::size_t>(ranks.size(), 65535));
        std::copy_n(ranks.begin(), std::min<std::size_t>(ranks.size(), ProgressPage::kMissing),
                    page.missing);
    });
}

void Progress::label(const char* text) {
    write([text](ProgressPage& page) {
        const std::size_t length = ::strnlen(text, sizeof page.label - 1);
        std::memcpy(page.label, text, length);
        page.label[length] = '\0';
    });
}

namespace {

template <class T>
bool read_at(const sys::UniqueFd& file, std::size_t offset, T& value) {
    return ::pread(file.get(), &value, sizeof value, static_cast<off_t>(offset)) == sizeof value;
}

}  // namespace

std::optional<ProgressCopy> read_progress(const sys::UniqueFd& file) {
    struct alignas(ProgressPage) Bytes {
        char bytes[sizeof(ProgressPage)];
    } copied;
    const auto* page = reinterpret_cast<const ProgressPage*>(copied.bytes);
    const std::size_t place = offsetof(ProgressPage, sequence);
    bool whole = false;
    for (int i = 0; i < kTries && !whole; ++i) {
        std::uint64_t before = 0, after = 0;
        if (!read_at(file, place, before) || !read_at(file, 0, copied) ||
            !read_at(file, place, after)) {
            return std::nullopt;
        }
        whole = before % 2 == 0 && after == before;
    }
    if (page->magic != ProgressPage::kMagic || page->stage == Stage::none ||
        page->stage > Stage::left || page->signature.kind > kLastKind ||
        page->signature.type > kLastType || page->signature.op > BATCHAI_COLL_PRODUCT) {
        return std::nullopt;
    }
    ProgressCopy copy;
    copy.whole = whole;
    copy.moves = page->moves;
    copy.epoch = page->epoch;
    copy.operation = page->operation;
    copy.signature = page->signature;
    copy.stage = page->stage;
    copy.inside = page->inside != 0;
    copy.certain = page->certain != 0;
    copy.pid = page->pid;
    const int listed = std::min<int>(page->missing_count, ProgressPage::kMissing);
    copy.missing.assign(page->missing, page->missing + listed);
    copy.label.assign(page->label, ::strnlen(page->label, sizeof page->label));
    return copy;
}

}  // namespace batchai::coll
