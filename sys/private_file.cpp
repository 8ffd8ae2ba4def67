// SPDX-License-Identifier: Apache-2.0
#include "sys/private_file.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::sys {
namespace {

constexpr std::size_t kMaximum = 64 * 1024;

std::string what_of(const std::string& name) {
    return "credentials user:" + name;
}

}  // namespace

const int kPrivateOpenFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY;

Result<std::string> read_private_file(int file, uid_t owner, const std::string& what) {
    struct stat info = {};
    if (::fstat(file, &info) != 0) return errno_error(what);
    if (!S_ISREG(info.st_mode) || info.st_uid != owner || (info.st_mode & 077) != 0)
        return Error{what + ": must be a file of user " + std::to_string(owner) +
                     " that only this user can read (chmod 600)"};
    auto text = read_all(file, kMaximum);
    if (!text) return text.error().in(what);
    return text;
}

Result<std::string> secret_of(std::string text, const std::string& what) {
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
    if (text.empty() || text.find('\0') != text.npos)
        return Error{what + ": empty, or contains a null byte"};
    return text;
}

Result<std::string> read_own_credentials(const std::string& name) {
    const passwd* entry = ::getpwuid(::geteuid());
    if (entry == nullptr || entry->pw_dir == nullptr || entry->pw_dir[0] != '/')
        return Error{what_of(name) + ": the user has no home directory"};
    const std::string path = std::string(entry->pw_dir) + "/.config/batchai/credentials/" + name;
    const UniqueFd file(::open(path.c_str(), kPrivateOpenFlags | O_NOFOLLOW | O_CLOEXEC));
    if (!file) return errno_error("credentials " + path);
    return read_private_file(file.get(), ::geteuid(), what_of(name));
}

Result<std::string> read_own_secret(const std::string& name) {
    auto text = read_own_credentials(name);
    if (!text) return text;
    return secret_of(*std::move(text), what_of(name));
}

}  // namespace batchai::sys
