// SPDX-License-Identifier: Apache-2.0
//
// InfoList owns a list of PMIx attributes under construction, InfoArray the finished array.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <cstdint>
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

}  // namespace batchai::launcher::pmix
