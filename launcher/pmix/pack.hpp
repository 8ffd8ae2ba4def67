// SPDX-License-Identifier: Apache-2.0
//
// Packs the library's values into bytes that another server of the same library version can read.
#pragma once

#include <pmix.h>

#include <cstdint>
#include <string>

namespace batchai::launcher::pmix {

class Buffer {
  public:
    Buffer() { PMIX_DATA_BUFFER_CONSTRUCT(&buffer_); }
    explicit Buffer(const std::string& bytes);
    ~Buffer() { PMIX_DATA_BUFFER_DESTRUCT(&buffer_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    bool pack(const void* values, std::int32_t count, pmix_data_type_t type);
    bool unpack(void* values, std::int32_t count, pmix_data_type_t type);
    // The number of bytes unpacked so far.
    std::size_t taken() const {
        return static_cast<std::size_t>(buffer_.unpack_ptr - buffer_.base_ptr);
    }
    std::size_t size() const { return buffer_.bytes_used; }
    std::string bytes() const { return {buffer_.base_ptr, buffer_.bytes_used}; }

  private:
    pmix_data_buffer_t buffer_;
};

}  // namespace batchai::launcher::pmix
