// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/shm.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string_view>

#include "collectives/reduce/copy.hpp"
#include "sys/file.hpp"

namespace batchai::coll {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

sys::Result<Segment> Segment::map(sys::UniqueFd fd, std::size_t bytes) {
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (data == MAP_FAILED) {
        return sys::errno_error(fmt::format("mapping {} bytes of shared memory", bytes));
    }
    return Segment(static_cast<std::byte*>(data), bytes, std::move(fd));
}

namespace {

// Whether the kernel may refuse other ranks access to our descriptors.
bool in_user_namespace() {
    const auto map = sys::read_file("/proc/self/uid_map", 4096);
    unsigned long long first = 0, outside = 0, count = 0;
    return map && (!(std::istringstream(*map) >> first >> outside >> count) || first != 0 ||
                   outside != 0 || count != 4294967295);
}

// Allocates in slices, because a signal undoes the slice in progress.
sys::Result<void> allocate(const sys::UniqueFd& fd, std::size_t bytes) {
    constexpr std::size_t kSlice = 64u << 20;
    for (std::size_t at = 0; at < bytes;) {
        const std::size_t length = std::min(kSlice, bytes - at);
        if (::fallocate(fd.get(), 0, static_cast<off_t>(at), static_cast<off_t>(length)) == 0) {
            at += length;
        } else if (errno != EINTR) {
            return sys::errno_error(fmt::format("allocating {} bytes of shared memory", bytes));
        }
    }
    return {};
}

}  // namespace

std::size_t available_memory() {
    const auto text = sys::read_file("/proc/meminfo", 4096);
    constexpr std::string_view kName = "MemAvailable:";
    const std::size_t at = text ? text->find(kName) : std::string::npos;
    if (at == std::string::npos) return std::numeric_limits<std::size_t>::max();
    return std::strtoull(text->c_str() + at + kName.size(), nullptr, 10) << 10;
}

sys::Result<Segment> Segment::create(std::size_t bytes) {
    return create(bytes, bytes);
}

sys::Result<Segment> Segment::create(std::size_t bytes, std::size_t at_once) {
    std::string file = in_user_namespace() ? "/dev/shm/batchai-collectives-XXXXXX" : "";
    sys::UniqueFd fd(file.empty() ? ::memfd_create("batchai-collectives", MFD_CLOEXEC)
                                  : ::mkostemp(file.data(), O_CLOEXEC));
    if (!fd) return sys::errno_error("creating shared memory");
    Segment owner(nullptr, 0, {});
    owner.file_ = std::move(file);
    if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
        return sys::errno_error(fmt::format("making {} bytes of shared memory", bytes));
    }
    if (auto allocated = allocate(fd, at_once); !allocated) return allocated.error();
    auto segment = map(std::move(fd), bytes);
    if (segment) std::swap(segment->file_, owner.file_);
    return segment;
}

sys::Result<Segment> Segment::open(const std::string& path, std::size_t bytes) {
    sys::UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!file) {
        const bool refused = errno == EACCES || errno == EPERM;
        sys::Error error = sys::errno_error("opening the node's shared memory " + path);
        if (refused)
            error.message +=
                ": the process that made it is not dumpable: its program must be readable for its "
                "user, and must not call prctl(PR_SET_DUMPABLE, 0)";
        return error;
    }
    struct stat status {};
    if (::fstat(file.get(), &status) != 0 || static_cast<std::size_t>(status.st_size) != bytes) {
        return sys::Error{path +
                          ": this is not the node's shared memory. The ranks of a node must share "
                          "one PID namespace"};
    }
    return map(std::move(file), bytes);
}

sys::Result<void> Segment::allocate_all() {
    return allocate(fd_, bytes_);
}

void Segment::fault_in(std::size_t bytes) {
#ifndef MADV_POPULATE_WRITE  // headers before Linux 5.14
    constexpr int MADV_POPULATE_WRITE = 23;
#endif
    (void)::madvise(data_, bytes, MADV_POPULATE_WRITE);
}

Segment Segment::alias() const {
    Segment other(data_, bytes_, {});
    other.is_alias_ = true;
    return other;
}

std::string Segment::path() const {
    return file_.empty() ? fmt::format("/proc/{}/fd/{}", ::getpid(), fd_.get()) : file_;
}

void Segment::close() {
    fd_.reset();
    if (!file_.empty()) ::unlink(file_.c_str());
    file_.clear();
}

Segment::Segment(Segment&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_),
      is_alias_(other.is_alias_),
      fd_(std::move(other.fd_)),
      file_(std::exchange(other.file_, {})) {}

Segment& Segment::operator=(Segment&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(is_alias_, other.is_alias_);
    std::swap(fd_, other.fd_);
    std::swap(file_, other.file_);
    return *this;
}

Segment::~Segment() {
    close();
    if (data_ != nullptr && !is_alias_) ::munmap(data_, bytes_);
}

std::size_t Node::bytes_needed(int local_size, std::size_t slot_bytes) {
    const auto ranks = static_cast<std::size_t>(local_size);
    constexpr std::size_t kPage = 4096;
    const std::size_t control = (sizeof(Head) + ranks * sizeof(Rank) + kPage - 1) / kPage * kPage;
    return control + ranks * 2 * kEager + (ranks + 1) * kSlots * slot_bytes;
}

Node::Node(Segment segment, int local_rank, int local_size, std::size_t slot_bytes)
    : segment_(std::move(segment)), rank_(local_rank), size_(local_size), slot_bytes_(slot_bytes) {
    const std::size_t slots = (static_cast<std::size_t>(size_) + 1) * kSlots * slot_bytes_;
    head_ = reinterpret_cast<Head*>(segment_.data());
    ranks_ = reinterpret_cast<Rank*>(segment_.data() + sizeof(Head));
    slots_ = segment_.data() + segment_.size() - slots;
    eager_buffers_ = slots_ - static_cast<std::size_t>(size_) * 2 * kEager;
}

void Node::fault_in() {
    constexpr std::size_t kMost = 32u << 20;
    const auto bytes = static_cast<std::size_t>(in_slot(size_ + 1, 0) - segment_.data());
    if (bytes <= kMost) segment_.fault_in(bytes);
}

void Node::enter(std::uint64_t operation, const Signature& signature,
                 std::span<const std::byte> data) {
    Entry& entry = ranks_[rank_].entries[operation % 2];
    entry.signature = signature;
    if (data.size() > kInline)
        copy_for_others(eager_buffer(rank_, operation), data.data(), data.size());
    else if (!data.empty())
        std::memcpy(entry.data, data.data(), data.size());
    entry.operation.store(operation, std::memory_order_release);
}

const Node::Entry* Node::entered(int rank, std::uint64_t operation) const {
    const Entry& entry = ranks_[rank].entries[operation % 2];
    return entry.operation.load(std::memory_order_acquire) == operation ? &entry : nullptr;
}

bool Node::all_copied(std::uint64_t chunk) const {
    return std::all_of(ranks_, ranks_ + size_,
                       [&](const Rank& rank) { return reached(rank.copied, chunk); });
}

bool Node::slot_free(std::uint64_t chunk) const {
    if (chunk <= kSlots) return true;
    return std::all_of(ranks_, ranks_ + size_,
                       [&](const Rank& rank) { return reached(rank.taken, chunk - kSlots); });
}

Failure Node::fail(const Failure& failure) {
    const std::lock_guard lock(reporting_);
    if (!failed()) {
        Report& report = ranks_[rank_].report;
        report.status = failure.status;
        const std::size_t length = std::min(failure.sentence.size(), sizeof report.sentence - 1);
        std::memcpy(report.sentence, failure.sentence.data(), length);
        report.sentence[length] = '\0';
        int none = 0;
        head_->failed.compare_exchange_strong(none, rank_ + 1, std::memory_order_acq_rel);
    }
    std::atomic_thread_fence(std::memory_order_release);  // before the program's next stores
    return *this->failure();
}

std::optional<Failure> Node::failure() const {
    const int first = head_->failed.load(std::memory_order_acquire);
    if (first == 0) return std::nullopt;
    const Report& report = ranks_[first - 1].report;
    return Failure{static_cast<batchai_coll_status>(report.status), report.sentence};
}

}  // namespace batchai::coll
