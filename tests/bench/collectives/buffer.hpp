// SPDX-License-Identifier: Apache-2.0
//
// Buffer: memory as training has it for its gradients: large pages where the kernel gives them,
// touched before anything is timed.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>

namespace batchai::bench {

class Buffer {
  public:
    explicit Buffer(std::size_t bytes) : bytes_((bytes + kPage - 1) / kPage * kPage) {
        // One page more than asked for, so that it can begin with one.
        map_ = ::mmap(nullptr, bytes_ + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);
        if (map_ == MAP_FAILED) throw std::bad_alloc();
        void* begin = map_;
        std::size_t space = bytes_ + kPage;
        data_ = static_cast<float*>(std::align(kPage, bytes_, begin, space));
        ::madvise(data_, bytes_, MADV_HUGEPAGE);
        for (std::size_t i = 0; i < bytes_ / sizeof(float); i += 1024) data_[i] = 0;
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { ::munmap(map_, bytes_ + kPage); }

    float* data() const { return data_; }

  private:
    static constexpr std::size_t kPage = std::size_t{2} << 20;

    std::size_t bytes_;
    void* map_ = nullptr;
    float* data_ = nullptr;
};

}  // namespace batchai::bench
