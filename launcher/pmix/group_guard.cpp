// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <pmix.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "launcher/pmix/upcalls.hpp"
#include "launcher/pmix/workarounds.hpp"

namespace batchai::launcher::pmix {
namespace {

constexpr std::uint8_t kUnknown = 0xff;

// A client's commands; kUnknown: the library does not name them.
struct Commands {
    std::uint8_t construct = kUnknown, destruct = kUnknown;
};
Commands& commands() {
    static Commands found;
    return found;
}

std::string name_of(std::uint8_t command) {
    char* text = nullptr;
    if (PMIx_Data_print(&text, nullptr, &command, PMIX_COMMAND) != PMIX_SUCCESS) return {};
    const std::string name = text == nullptr ? "" : text;
    std::free(text);
    return name;
}

bool is_array_of_infos(const pmix_value_t& value) {
    return value.type == PMIX_DATA_ARRAY && value.data.darray != nullptr &&
           value.data.darray->type == PMIX_INFO && value.data.darray->array != nullptr;
}

// Empty members: the group is to end.
void tell_host(std::string name, const std::vector<pmix_proc_t>& members) {
    std::vector<std::uint32_t> ranks;
    for (const pmix_proc_t& member : members) ranks.push_back(member.rank);
    hand_over([name = std::move(name), ranks = std::move(ranks)](Host& host) {
        host.group_asked(name, ranks);
    });
}

// A request about a group, without its command.
struct GroupRequest {
    std::string name;
    std::vector<pmix_proc_t> members;  // empty: the group is to end
    bool numbered = false;             // it asks for a context id
    bool timed = false;                // it has a time limit
    bool misleading = false;           // PMIX_GROUP_INFO is not an array of infos

    // Whether the library can handle it.
    bool is_safe() const {
        const bool wildcard = std::any_of(
            members.begin(), members.end(),
            [](const pmix_proc_t& member) { return member.rank == PMIX_RANK_WILDCARD; });
        return !timed && !misleading && (numbered || !wildcard);
    }
};

bool read_members(Buffer& bytes, GroupRequest& request) {
    std::size_t count = 0;
    if (!bytes.unpack(&count, 1, PMIX_SIZE) || count > bytes.size()) return false;
    request.members.resize(count);
    return bytes.unpack(request.members.data(), static_cast<std::int32_t>(count), PMIX_PROC);
}

void note(const pmix_info_t& info, GroupRequest& request) {
    if (PMIX_CHECK_KEY(&info, PMIX_TIMEOUT)) request.timed = true;
    if (PMIX_CHECK_KEY(&info, PMIX_GROUP_INFO) && !is_array_of_infos(info.value)) {
        request.misleading = true;
    }
    if (PMIX_CHECK_KEY(&info, PMIX_GROUP_ASSIGN_CONTEXT_ID)) {
        request.numbered = PMIX_INFO_TRUE(&info);
    }
}

bool read_infos(Buffer& bytes, GroupRequest& request) {
    std::size_t count = 0;
    if (!bytes.unpack(&count, 1, PMIX_SIZE) || count > bytes.size()) return false;
    if (count == 0) return true;
    pmix_info_t* info = nullptr;
    PMIX_INFO_CREATE(info, count);
    const bool read = bytes.unpack(info, static_cast<std::int32_t>(count), PMIX_INFO);
    for (std::size_t i = 0; read && i < count; ++i) note(info[i], request);
    PMIX_INFO_FREE(info, count);
    return read;
}

// Nothing: the request cannot be parsed. The library cannot parse it either, and tells the rank.
std::optional<GroupRequest> read_request(Buffer& bytes, bool construct) {
    GroupRequest request;
    char* group = nullptr;
    if (!bytes.unpack(&group, 1, PMIX_STRING)) return std::nullopt;
    request.name = group == nullptr ? "" : group;
    std::free(group);
    if (construct && !read_members(bytes, request)) return std::nullopt;
    if (!read_infos(bytes, request)) return std::nullopt;
    return request;
}

// Replaces the command of a request that the library cannot handle by an unknown one. Tells the
// host about the other requests.
void guard(char* body, std::size_t size) {
    constexpr std::size_t kEnough = 32;  // enough for the command; requests may be longer
    std::uint8_t command = 0;
    Buffer start(std::string(body, std::min(size, kEnough)));
    if (!start.unpack(&command, 1, PMIX_COMMAND)) return;
    const Commands& groups = commands();
    if (command == kUnknown || (command != groups.construct && command != groups.destruct)) return;
    const std::size_t place = start.taken() - 1;
    Buffer rest(std::string(body + start.taken(), size - start.taken()));
    auto request = read_request(rest, command == groups.construct);
    if (!request) return;
    if (!request->is_safe()) {
        body[place] = static_cast<char>(kUnknown);
        return;
    }
    tell_host(std::move(request->name), request->members);
}

}  // namespace

void find_group_commands() {
    for (std::uint8_t command = 0; command < kUnknown; ++command) {
        const std::string name = name_of(command);
        if (name.ends_with("GROUP CONSTRUCT")) commands().construct = command;
        if (name.ends_with("GROUP DESTRUCT")) commands().destruct = command;
    }
}

bool groups_are_guarded() {
    return commands().construct != kUnknown && commands().destruct != kUnknown;
}

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
