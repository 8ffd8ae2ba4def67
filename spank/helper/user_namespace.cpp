// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/user_namespace.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <sstream>
#include <string_view>

#include "spank/helper/files.hpp"
#include "sys/unique_fd.hpp"
#include "sys/users.hpp"

namespace batchai::spank {
namespace {

std::uint32_t number(std::string_view text) {
    std::uint32_t value = 0;
    const auto end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && rest == end ? value : 0;
}

// From lines NAME:FIRST:COUNT, in which NAME is also a user's number. Empty: there are none.
std::string map_of(const char* file, unsigned own_id, uid_t user, const std::string& name) {
    std::string ranges;
    unsigned long next = 1;
    std::istringstream lines(read_or_empty(AT_FDCWD, file));
    for (std::string owner, first, count; std::getline(lines, owner, ':') &&
                                          std::getline(lines, first, ':') &&
                                          std::getline(lines, count);) {
        if (owner != name && owner != std::to_string(user)) continue;
        if (number(first) == 0 || number(count) == 0) continue;  // 0 is root
        ranges += std::to_string(next) + ' ' + first + ' ' + count + '\n';
        next += number(count);
    }
    return ranges.empty() ? ranges : "0 " + std::to_string(own_id) + " 1\n" + ranges;
}

}  // namespace

std::optional<IdMaps> maps_of(uid_t user, gid_t group) {
    const std::string name = sys::names_of(user, {}).name;
    IdMaps maps{map_of("/etc/subuid", user, user, name), map_of("/etc/subgid", group, user, name)};
    if (maps.uids.empty() || maps.gids.empty()) return std::nullopt;
    return maps;
}

// The maps are written by a child that stays outside, for the process itself has no rights there.
bool enter_user_namespace(const IdMaps& maps) {
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) != 0) return false;
    const sys::UniqueFd entered(pair[0]);
    sys::UniqueFd tell(pair[1]);
    const std::string process = "/proc/" + std::to_string(getpid());
    const pid_t child = fork();
    if (child < 0) return false;
    if (child == 0) {
        tell.reset();
        const auto write_map = [&process](const char* name, const std::string& lines) {
            const sys::UniqueFd file(open((process + name).c_str(), O_WRONLY | O_CLOEXEC));
            return file && write(file.get(), lines.data(), lines.size()) ==
                               static_cast<ssize_t>(lines.size());
        };
        char byte = 0;
        const bool written = read(entered.get(), &byte, 1) == 1 &&
                             write_map("/uid_map", maps.uids) && write_map("/gid_map", maps.gids);
        _exit(written ? 0 : 1);
    }
    const bool told = unshare(CLONE_NEWUSER) == 0 && write(tell.get(), "", 1) == 1;
    tell.reset();
    int status = 0;
    return waitpid(child, &status, 0) == child && status == 0 && told;
}

}  // namespace batchai::spank
