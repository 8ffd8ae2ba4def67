// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmix/pack.hpp"

#include <cstdlib>

namespace batchai::launcher::pmix {

Buffer::Buffer(const std::string& bytes) : Buffer() {
    pmix_byte_object_t object{static_cast<char*>(std::malloc(bytes.size())), bytes.size()};
    bytes.copy(object.bytes, bytes.size());
    PMIx_Data_load(&buffer_, &object);  // takes ownership of the bytes
}

bool Buffer::pack(const void* values, std::int32_t count, pmix_data_type_t type) {
    return PMIx_Data_pack(nullptr, &buffer_, const_cast<void*>(values), count, type) ==
           PMIX_SUCCESS;
}

bool Buffer::unpack(void* values, std::int32_t count, pmix_data_type_t type) {
    std::int32_t got = count;
    return PMIx_Data_unpack(nullptr, &buffer_, values, &got, type) == PMIX_SUCCESS && got == count;
}

}  // namespace batchai::launcher::pmix
