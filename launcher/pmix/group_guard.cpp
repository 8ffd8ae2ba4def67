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

constexpr std::size_t kTagPlace = 4, kSizePlace = 8;  // in a message's header

std::uint32_t tag_of(const char* header) {
    std::uint32_t tag = 0;
    std::memcpy(&tag, header + kTagPlace, sizeof tag);
    return tag;
}

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
    auto ranks = names().numbers(members.data(), members.size());
    if (!ranks) return;  // the library will ask its host, which refuses
    hand_over([name = std::move(name), ranks = *std::move(ranks)](Host& host) {
        host.group_asked(name, ranks);
    });
}

// ---- versions -----------------------------------------------------------------------------------

// The first number in the text; 0: none.
int major_of(std::string_view version) {
    const auto digit = version.find_first_of("0123456789");
    return digit == std::string_view::npos ? 0 : version[digit] - '0';
}

int library_major() {
    static const int major = major_of(PMIx_Get_version());
    return major;
}

// The first message's body: the name of a security module, the size of a credential (32 bits in
// network order) and the credential, the kind of process (8 bits), the job, the rank (32 bits) and
// the version. Texts end with a zero byte. 0: not of a client, or of another form.
int client_major(std::string_view greeting) {
    std::size_t at = 0;
    const auto skip_text = [&] { at = std::min(greeting.find('\0', at), greeting.size()) + 1; };
    skip_text();
    std::uint32_t credential = 0;
    if (at + sizeof credential > greeting.size()) return 0;
    std::memcpy(&credential, greeting.data() + at, sizeof credential);
    at += sizeof credential + ntohl(credential);
    if (at >= greeting.size() || greeting[at] != 0) return 0;  // 0: a client
    ++at;
    skip_text();
    at += sizeof(std::uint32_t);
    if (at >= greeting.size()) return 0;
    return major_of(greeting.substr(at, greeting.find('\0', at) - at));
}

// ---- requests -----------------------------------------------------------------------------------

// A request about a group, without its command.
struct GroupRequest {
    std::string name;
    std::vector<pmix_proc_t> members;
    std::size_t members_start = 0, members_end = 0;  // where it names them
    bool numbered = false;                           // it asks for a context id
    bool timed = false;                              // it has a time limit
    bool misleading = false;                         // PMIX_GROUP_INFO is not an array of infos

    // Whether the library can make this group.
    bool is_safe() const {
        const bool wildcard = std::any_of(
            members.begin(), members.end(),
            [](const pmix_proc_t& member) { return member.rank == PMIX_RANK_WILDCARD; });
        return !timed && !misleading && (numbered || !wildcard);
    }
};

bool read_members(Buffer& bytes, GroupRequest& request) {
    std::size_t count = 0;
    request.members_start = bytes.taken();
    if (!bytes.unpack(&count, 1, PMIX_SIZE) || count > bytes.size()) return false;
    request.members.resize(count);
    if (!bytes.unpack(request.members.data(), static_cast<std::int32_t>(count), PMIX_PROC)) {
        return false;
    }
    request.members_end = bytes.taken();
    return true;
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
std::optional<GroupRequest> read_request(Buffer& bytes, bool has_members) {
    GroupRequest request;
    char* group = nullptr;
    if (!bytes.unpack(&group, 1, PMIX_STRING)) return std::nullopt;
    request.name = group == nullptr ? "" : group;
    std::free(group);
    if (has_members && !read_members(bytes, request)) return std::nullopt;
    if (!read_infos(bytes, request)) return std::nullopt;
    return request;
}

// Replaces the command of a request that the library cannot handle by an unknown one. Tells the
// host about the other requests. Returns the members of a group that is to be made.
std::vector<pmix_proc_t> guard(char* body, std::size_t size, int client) {
    constexpr std::size_t kEnough = 32;  // enough for the command; requests may be longer
    std::uint8_t command = 0;
    Buffer start(std::string(body, std::min(size, kEnough)));
    if (!start.unpack(&command, 1, PMIX_COMMAND)) return {};
    const Commands& groups = commands();
    if (command == kUnknown || (command != groups.construct && command != groups.destruct)) {
        return {};
    }
    const bool making = command == groups.construct;
    char* const after = body + start.taken();
    Buffer rest(std::string(after, body + size));
    // PMIx 4 keeps the members of a group. Later versions name them when they end it, too.
    auto request = read_request(rest, making || client > 4);
    if (!request) return {};
    if (!making) {
        if (library_major() == 4 && client > 4) {
            std::copy(after + request->members_end, body + size, after + request->members_start);
        }
        request->members.clear();
    }
    if (!request->is_safe()) {
        *(after - 1) = static_cast<char>(kUnknown);
        return {};
    }
    tell_host(std::move(request->name), request->members);
    return std::move(request->members);
}

// ---- answers ------------------------------------------------------------------------------------

// The answer of PMIx 4 is a status and the context id, SIZE_MAX if none was asked for. PMIx 5 has
// the members before the id, and leaves out the id if there is none. PMIx 6 says before the id
// whether there is one. After an error there is only the status. False: not such an answer.
bool translate(Buffer& four, int major, const std::vector<pmix_proc_t>& members, Buffer& answer) {
    pmix_status_t status = PMIX_SUCCESS;
    std::size_t id = SIZE_MAX;
    if (!four.unpack(&status, 1, PMIX_STATUS) || !four.unpack(&id, 1, PMIX_SIZE)) return false;
    if (!answer.pack(&status, 1, PMIX_STATUS)) return false;
    if (status != PMIX_SUCCESS) return true;
    const std::size_t count = members.size();
    const bool has_id = id != SIZE_MAX;
    return answer.pack(&count, 1, PMIX_SIZE) &&
           answer.pack(members.data(), static_cast<std::int32_t>(count), PMIX_PROC) &&
           (major < 6 || answer.pack(&has_id, 1, PMIX_BOOL)) &&
           (!has_id || answer.pack(&id, 1, PMIX_SIZE));
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

void ClientMessages::on_greeting(const char* bytes, std::size_t size) {
    constexpr std::size_t kEnough = 4096;
    greeting_.append(bytes, std::min(size, kEnough - greeting_.size()));
}

int ClientMessages::client() const {
    if (greeting_.size() < header_.size()) return 0;
    return client_major(std::string_view(greeting_).substr(header_.size()));
}

std::string ClientMessages::instead_of(std::string_view header, std::string_view body) {
    if (awaited_.empty() || header.size() != header_.size()) return {};
    const auto awaited = awaited_.extract(tag_of(header.data()));
    if (awaited.empty()) return {};
    Buffer theirs{std::string(body)}, ours;
    if (!translate(theirs, client(), awaited.mapped(), ours)) return {};
    std::string message(header);
    const std::uint32_t size = htonl(static_cast<std::uint32_t>(ours.size()));
    std::memcpy(message.data() + kSizePlace, &size, sizeof size);
    return message + ours.bytes();
}

void ClientMessages::on_read(char* bytes, std::size_t size) {
    if (header_size_ < header_.size()) {
        const std::size_t taken = std::min(size, header_.size() - header_size_);
        std::memcpy(header_.data() + header_size_, bytes, taken);
        header_size_ += taken;
        if (header_size_ < header_.size()) return;
        std::uint32_t body_size = 0;
        std::memcpy(&body_size, header_.data() + kSizePlace, sizeof body_size);
        body_size_ = ntohl(body_size);
        body_read_ = 0;
        if (body_size_ == 0) header_size_ = 0;
        return;
    }
    if (body_read_ == 0) body_ = bytes;
    body_read_ += size;
    if (body_read_ < body_size_) return;
    header_size_ = 0;
    auto members = guard(body_, body_size_, client());
    if (members.empty() || library_major() != 4 || client() < 5) return;
    awaited_[tag_of(header_.data())] = std::move(members);
}

}  // namespace batchai::launcher::pmix
