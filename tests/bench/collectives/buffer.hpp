// SPDX-License-Identifier: Apache-2.0
//
// Buffer: memory as training has it for its gradients, with large pages where the kernel gives
// them, or what a library gives; touched before anything is timed.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>

namespace batchai::bench {

class Buffer {
  public:
    // given: memory of that size, which the caller owns; null: the buffer makes its own.
    explicit Buffer(std::size_t bytes, void* given = nullptr) : data_(static_cast<float*>(given)) {
        if (given == nullptr) map((bytes + kPage - 1) / kPage * kPage);
        for (std::size_t i = 0; i < bytes / sizeof(float); i += kSmallPage) data_[i] = 0;
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() {
        if (map_ != nullptr) ::munmap(map_, bytes_);
    }

    float* data() const { return data_; }

  private:
    static constexpr std::size_t kPage = std::size_t{2} << 20;
    static constexpr std::size_t kSmallPage = 4096 / sizeof(float);

    void map(std::size_t bytes) {
        // One page more than asked for, so that it can begin with one.
        bytes_ = bytes + kPage;
        void* map =
            ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map == MAP_FAILED) throw std::bad_alloc();
        void* begin = map_ = map;
        std::size_t space = bytes_;
        data_ = static_cast<float*>(std::align(kPage, bytes, begin, space));
        ::madvise(data_, bytes, MADV_HUGEPAGE);
    }

    std::size_t bytes_ = 0;
    void* map_ = nullptr;
    float* data_ = nullptr;
};

}  // namespace batchai::bench
