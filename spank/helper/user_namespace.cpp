// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/user_namespace.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <string_view>
#include <vector>

#include "spank/helper/fields.hpp"
#include "sys/unique_fd.hpp"
#include "sys/users.hpp"

namespace batchai::spank {
namespace {

// The limits of user_namespaces(7).
constexpr std::size_t kMostLines = 340;
constexpr std::size_t kMostBytes = 4095;

// 0, which is not valid either, if the text is not a number.
std::uint32_t number(std::string_view text) {
    std::uint32_t value = 0;
    const auto end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && rest == end ? value : 0;
}

struct Ids {
    std::uint32_t first;
    std::uint32_t count;

    bool is_valid() const {
        return first != 0 && count != 0 &&
               count <= std::numeric_limits<std::uint32_t>::max() - first;
    }
    bool overlaps(const Ids& other) const {
        return first < other.first + other.count && other.first < first + count;
    }
};

}  // namespace

std::string id_map(std::istream& file, std::uint32_t own_id, uid_t user, const std::string& name) {
    std::vector<Ids> taken{{own_id, 1}};
    std::string lines = "0 " + std::to_string(own_id) + " 1\n";
    std::uint32_t next = 1;
    for (std::string line; std::getline(file, line);) {
        const auto words = split_nonempty(line, ':');
        if (words.size() != 3 || (words[0] != name && words[0] != std::to_string(user))) continue;
        const Ids ids{number(words[1]), number(words[2])};
        if (!ids.is_valid() || std::any_of(taken.begin(), taken.end(),
                                           [&](const Ids& other) { return ids.overlaps(other); }))
            continue;
        const std::string added = std::to_string(next) + ' ' + std::to_string(ids.first) + ' ' +
                                  std::to_string(ids.count) + '\n';
        if (taken.size() == kMostLines || lines.size() + added.size() > kMostBytes) break;
        next += ids.count;
        lines += added;
        taken.push_back(ids);
    }
    return taken.size() > 1 ? lines : std::string();
}

std::optional<IdMaps> maps_of(uid_t user, gid_t group) {
    std::ifstream uids("/etc/subuid");
    std::ifstream gids("/etc/subgid");
    if (!uids || !gids) return std::nullopt;
    const std::string name = sys::names_of(user, {}).name;
    IdMaps maps{id_map(uids, user, user, name), id_map(gids, group, user, name)};
    if (maps.uids.empty() || maps.gids.empty()) return std::nullopt;
    return maps;
}

// The maps are written by a child that stays outside, because the process itself has no rights
// there any more.
bool enter_user_namespace(const IdMaps& maps) {
    const sys::UniqueFd process(open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));
    int pair[2];
    if (!process || pipe2(pair, O_CLOEXEC) != 0) return false;
    const sys::UniqueFd entered(pair[0]);
    sys::UniqueFd tell(pair[1]);
    const pid_t child = fork();
    if (child < 0) return false;
    if (child == 0) {
        tell.reset();
        const auto write_map = [&process](const char* name, const std::string& lines) {
            const sys::UniqueFd file(openat(process.get(), name, O_WRONLY | O_CLOEXEC));
            return file && write(file.get(), lines.data(), lines.size()) ==
                               static_cast<ssize_t>(lines.size());
        };
        char byte = 0;
        const bool written = read(entered.get(), &byte, 1) == 1 &&
                             write_map("uid_map", maps.uids) && write_map("gid_map", maps.gids);
        _exit(written ? 0 : 1);
    }
    const bool told = unshare(CLONE_NEWUSER) == 0 && write(tell.get(), "", 1) == 1;
    tell.reset();
    int status = 0;
    return waitpid(child, &status, 0) == child && status == 0 && told;
}

}  // namespace batchai::spank
