// SPDX-License-Identifier: Apache-2.0
//
// Files that root reads again: those of a job's directory, which the plugin and its helper each
// read with code of their own, and those of /proc, /etc and /run/batchai.
#include "spank/state.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <sstream>

#include "spank/helper/fields.hpp"
#include "spank/helper/root/cgroup.hpp"
#include "spank/helper/root/counters.hpp"
#include "spank/helper/root/daemon_notes.hpp"
#include "spank/helper/root/submission.hpp"
#include "spank/helper/user_namespace.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace batchai::spank;

namespace {

// A directory with the files of a job, all with the same text. It is removed at the end of the run.
struct Directory {
    Directory() {
        fuzz::must(mkdtemp(path) != nullptr, "a directory for files", path);
        fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        for (const char* name : {kStateFile, kWitnessFile, kPreparationFile})
            files.push_back(openat(fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    }
    ~Directory() {
        for (const char* name : {kStateFile, kWitnessFile, kPreparationFile}) unlinkat(fd, name, 0);
        rmdir(path);
    }
    void write(const std::string& text) const {
        for (const int file : files)
            fuzz::must(ftruncate(file, 0) == 0 && pwrite(file, text.data(), text.size(), 0) ==
                                                      static_cast<ssize_t>(text.size()),
                       "a file is written", path);
    }
    char path[64] = "/dev/shm/batchai-fuzz-XXXXXX";
    int fd = -1;
    std::vector<int> files;
};

// The plugin and the helper see the same in a state.
void read_state(const Directory& directory, const std::string& text) {
    State state;
    (void)state.read(directory.fd, 2001, 0);
    std::string head = text;
    const auto end = head.find(std::string_view("\0\0", 2));
    if (end != head.npos) head.resize(end + 1);
    const auto fields = Fields::parse(head);
    if (text.empty() || !fields) return;
    for (const char* name : {"uid", "restart", "result", "namespace", "message", "nodes", "mount"})
        fuzz::must(fields->get(name) == state.field(name), "plugin and helper read the same", name);
    std::size_t length = 0;
    state.for_each_variable(
        [&](const char* entry) { length += std::string_view(entry).size() + 1; });
    fuzz::must(length <= text.size() + 1, "the environment is in the file", "");
}

void read_maps(const std::string& text) {
    std::istringstream file(text);
    std::istringstream lines(id_map(file, 2001, 2001, "alice"));
    unsigned long inside = 0;
    unsigned long next = 0;
    for (unsigned long first, count; lines >> inside >> first >> count; next += count) {
        fuzz::must(inside == next, "a map has no gap", text);
        fuzz::must(first > 0 && count > 0 && first + count <= 0xffffffffUL,
                   "a map gives no id of root", text);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Directory directory;
    const std::string text(reinterpret_cast<const char*>(data), size);
    directory.write(text);
    read_state(directory, text);
    (void)has_witness(directory.fd);
    Once once;
    char line[kLineMaximum] = "";
    if (once.open(directory.fd) && once.read(line, sizeof line) == Once::Result::failed)
        fuzz::must(std::string_view(line).find('\n') == std::string_view::npos,
                   "a failure is one line", line);
    if (const auto identity = identity_from_text(text)) {
        const std::string once_more = to_text(*identity);
        const auto same = identity_from_text(once_more);
        fuzz::must(identity->pid > 1 && same && to_text(*same) == once_more,
                   "a process survives its text", text);
    }
    (void)start_time(text);
    const std::string time = submission_time(text, 17);
    fuzz::must(time.find_first_not_of("0123456789") == time.npos, "a time is a number", time);
    const Counts counts = kept_counts(text);
    fuzz::must(kept_counts(kept_text(counts)) == counts, "counters survive their text", text);
    const auto middle = text.find('\1');
    const auto cgroups =
        daemon_cgroups(text.substr(0, middle), middle == text.npos ? "" : text.substr(middle));
    if (cgroups)
        for (const auto& path : *cgroups)
            fuzz::must(path.ends_with("/batchai"), "a cgroup of our own", path);
    read_maps(text);
    return 0;
}
