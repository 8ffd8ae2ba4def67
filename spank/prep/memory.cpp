// SPDX-License-Identifier: Apache-2.0
#include "spank/prep/memory.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "sys/file.hpp"

namespace batchai::spank {
namespace {

constexpr std::size_t kFileMaximum = 256;

std::string cache_directory() {
    for (const auto& [name, below] : {std::pair{"XDG_CACHE_HOME", ""}, {"HOME", "/.cache"}}) {
        const char* value = std::getenv(name);
        if (value != nullptr && value[0] == '/') return std::string(value) + below;
    }
    return {};
}

// The directory, which is made if it is missing. Empty if another user could write to it.
std::string own_directory() {
    std::string directory = cache_directory();
    if (directory.empty()) return {};
    for (const char* below : {"", "/batchai", "/preparation"}) {
        directory += below;
        if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return {};
    }
    struct stat status = {};
    const bool own = lstat(directory.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                     status.st_uid == geteuid() && (status.st_mode & 022) == 0;
    return own ? directory : std::string();
}

// "started IDENTITY" or "succeeded IDENTITY DIGEST TIME".
struct Note {
    std::string state;
    std::string identity;
    std::string digest;
    double time = 0;
};

Note read_note(const std::string& file) {
    Note note;
    if (const auto text = sys::read_file(file, kFileMaximum))
        std::istringstream(*text) >> note.state >> note.identity >> note.digest >> note.time;
    return note;
}

}  // namespace

Memory::Memory(const std::string& node) {
    const std::string directory = own_directory();
    if (!directory.empty() && node.find('/') == node.npos) file_ = directory + "/" + node;
}

std::optional<double> Memory::succeeded_since(double earliest, const Inputs& inputs) const {
    if (file_.empty()) return std::nullopt;
    const Note note = read_note(file_);
    if (note.state != "succeeded" || note.digest != inputs.digest || note.time < earliest)
        return std::nullopt;
    return note.time;
}

void Memory::note_start(const Inputs& inputs) const {
    if (file_.empty()) return;
    if (!sys::write_file(file_, "started " + inputs.identity + "\n", 0600)) forget();
}

void Memory::note_success(const Inputs& before, const Inputs& after, double time) const {
    if (file_.empty()) return;
    const bool alone = read_note(file_).identity == before.identity;
    if (!alone || !unchanged(before, after) ||
        !sys::write_file(
            file_, fmt::format("succeeded {} {} {:.0f}\n", before.identity, after.digest, time),
            0600))
        forget();
}

void Memory::forget() const {
    if (!file_.empty()) unlink(file_.c_str());
}

}  // namespace batchai::spank
