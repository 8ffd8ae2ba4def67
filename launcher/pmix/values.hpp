// SPDX-License-Identifier: Apache-2.0
//
// The library's values. InfoList owns a list of attributes under construction, InfoArray the
// finished array. Buffer packs values into bytes that another server of the same library version
// can read.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace batchai::launcher::pmix {

class InfoArray {
  public:
    explicit InfoArray(void* list) { PMIx_Info_list_convert(list, &array_); }
    ~InfoArray() { PMIX_DATA_ARRAY_DESTRUCT(&array_); }
    InfoArray(const InfoArray&) = delete;
    InfoArray& operator=(const InfoArray&) = delete;

    pmix_info_t* data() { return static_cast<pmix_info_t*>(array_.array); }
    std::size_t size() const { return array_.size; }
    pmix_data_array_t* raw() { return &array_; }

  private:
    pmix_data_array_t array_{};
};

class InfoList {
  public:
    InfoList() : list_(PMIx_Info_list_start()) {}
    ~InfoList() { PMIx_Info_list_release(list_); }
    InfoList(const InfoList&) = delete;
    InfoList& operator=(const InfoList&) = delete;

    void add(const char* key, const std::string& value) { add(key, value.c_str(), PMIX_STRING); }
    void add(const char* key, std::uint32_t value) { add(key, &value, PMIX_UINT32); }
    void add(const char* key, std::uint16_t value) { add(key, &value, PMIX_UINT16); }
    void add(const char* key, bool value) { add(key, &value, PMIX_BOOL); }
    void add_size(const char* key, std::size_t value) { add(key, &value, PMIX_SIZE); }
    void add_bytes(const char* key, const std::string& bytes) {
        pmix_byte_object_t object{const_cast<char*>(bytes.data()), bytes.size()};
        add(key, &object, PMIX_BYTE_OBJECT);
    }
    void add_procs(const char* key, const std::vector<pmix_proc_t>& procs) {
        pmix_data_array_t array{PMIX_PROC, procs.size(), const_cast<pmix_proc_t*>(procs.data())};
        add(key, &array, PMIX_DATA_ARRAY);
    }
    void add_proc(const char* key, const pmix_proc_t& value) { add(key, &value, PMIX_PROC); }
    void add_rank(const char* key, pmix_rank_t value) { add(key, &value, PMIX_PROC_RANK); }
    void add_regex(const char* key, const char* value) { add(key, value, PMIX_REGEX); }
    // For a key whose value the library keeps as a pointer. A copy would be freed with the list.
    void add_reference(const char* key, void* value) { add(key, value, PMIX_POINTER); }
    void add(const char* key, const InfoList& nested) {
        InfoArray array(nested.list_);
        add(key, array.raw(), PMIX_DATA_ARRAY);
    }
    InfoArray array() const { return InfoArray(list_); }

  private:
    void add(const char* key, const void* value, pmix_data_type_t type) {
        PMIx_Info_list_add(list_, key, const_cast<void*>(value), type);
    }
    void* list_;
};

class Buffer {
  public:
    Buffer() { PMIX_DATA_BUFFER_CONSTRUCT(&buffer_); }
    explicit Buffer(const std::string& bytes) : Buffer() {
        pmix_byte_object_t object{static_cast<char*>(std::malloc(bytes.size())), bytes.size()};
        bytes.copy(object.bytes, bytes.size());
        PMIx_Data_load(&buffer_, &object);  // takes ownership of the bytes
    }
    ~Buffer() { PMIX_DATA_BUFFER_DESTRUCT(&buffer_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    bool pack(const void* values, std::int32_t count, pmix_data_type_t type) {
        return PMIx_Data_pack(nullptr, &buffer_, const_cast<void*>(values), count, type) ==
               PMIX_SUCCESS;
    }
    bool unpack(void* values, std::int32_t count, pmix_data_type_t type) {
        std::int32_t got = count;
        return PMIx_Data_unpack(nullptr, &buffer_, values, &got, type) == PMIX_SUCCESS &&
               got == count;
    }
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
