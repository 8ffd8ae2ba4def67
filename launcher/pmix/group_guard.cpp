// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmix/group_guard.hpp"

#include <arpa/inet.h>
#include <pmix.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "launcher/pmix/pack.hpp"
#include "launcher/pmix/upcalls.hpp"

namespace batchai::launcher::pmix {
namespace {

// Commands of a client: pmix_globals.h of the library.
constexpr std::uint8_t kGroupConstruct = 24, kGroupDestruct = 28, kUnknown = 0xff;

bool is_array_of_infos(const pmix_value_t& value) {
    return value.type == PMIX_DATA_ARRAY && value.data.darray != nullptr &&
           value.data.darray->type == PMIX_INFO && value.data.darray->array != nullptr;
}

// members: none where the group is to end.
void tell_host(std::string name, const std::vector<pmix_proc_t>& members) {
    std::vector<std::uint32_t> ranks;
    for (const pmix_proc_t& member : members) ranks.push_back(member.rank);
    hand_over([name = std::move(name), ranks = std::move(ranks)](Host& host) {
        host.group_asked(name, ranks);
    });
}

// Whether the library can be given the rest of a request, after its command. What we cannot read,
// it cannot either, and says so to the rank.
bool is_safe(Buffer& request, bool construct) {
    char* group = nullptr;
    std::size_t count = 0;
    if (!request.unpack(&group, 1, PMIX_STRING)) return true;
    const std::string name = group == nullptr ? "" : group;
    std::free(group);
    std::vector<pmix_proc_t> members;
    bool wildcard = false;
    if (construct) {
        if (!request.unpack(&count, 1, PMIX_SIZE) || count > request.size()) return true;
        members.resize(count);
        if (!request.unpack(members.data(), static_cast<std::int32_t>(count), PMIX_PROC)) {
            return true;
        }
        wildcard = std::any_of(members.begin(), members.end(), [](const pmix_proc_t& member) {
            return member.rank == PMIX_RANK_WILDCARD;
        });
    }
    if (!request.unpack(&count, 1, PMIX_SIZE) || count > request.size()) return true;
    bool safe = true, numbered = false;
    if (count > 0) {
        pmix_info_t* info = nullptr;
        PMIX_INFO_CREATE(info, count);
        if (request.unpack(info, static_cast<std::int32_t>(count), PMIX_INFO)) {
            for (std::size_t i = 0; i < count; ++i) {
                if (PMIX_CHECK_KEY(&info[i], PMIX_TIMEOUT)) safe = false;
                if (PMIX_CHECK_KEY(&info[i], PMIX_GROUP_INFO)) {
                    safe = safe && is_array_of_infos(info[i].value);
                }
                if (PMIX_CHECK_KEY(&info[i], PMIX_GROUP_ASSIGN_CONTEXT_ID)) {
                    numbered = PMIX_INFO_TRUE(&info[i]);
                }
            }
        }
        PMIX_INFO_FREE(info, count);
    }
    safe = safe && (numbered || !wildcard);
    if (safe) tell_host(name, members);
    return safe;
}

// Makes a request that the library cannot serve unknown to it.
void guard(char* body, std::size_t size) {
    constexpr std::size_t kEnough = 32;  // for the command alone: others may be long
    std::uint8_t command = 0;
    Buffer start(std::string(body, std::min(size, kEnough)));
    if (!start.unpack(&command, 1, PMIX_COMMAND)) return;
    if (command != kGroupConstruct && command != kGroupDestruct) return;
    const std::size_t place = start.taken() - 1;
    Buffer request(std::string(body + start.taken(), size - start.taken()));
    if (!is_safe(request, command == kGroupConstruct)) body[place] = static_cast<char>(kUnknown);
}

}  // namespace

void ClientMessages::on_read(char* bytes, std::size_t size) {
    if (header_size_ < header_.size()) {
        const std::size_t taken = std::min(size, header_.size() - header_size_);
        std::memcpy(header_.data() + header_size_, bytes, taken);
        header_size_ += taken;
        if (header_size_ < header_.size()) return;
        std::uint32_t body_size = 0;
        std::memcpy(&body_size, header_.data() + 2 * sizeof body_size, sizeof body_size);
        body_size_ = ntohl(body_size);
        body_read_ = 0;
        if (body_size_ == 0) header_size_ = 0;
        return;
    }
    if (body_read_ == 0) body_ = bytes;
    body_read_ += size;
    if (body_read_ < body_size_) return;
    header_size_ = 0;
    guard(body_, body_size_);
}

}  // namespace batchai::launcher::pmix
