// SPDX-License-Identifier: Apache-2.0
#include "job/check.hpp"

#include <set>
#include <sstream>
#include <string>

#include "job/snapshot.hpp"
#include "sys/digest.hpp"
#include "sys/directories.hpp"
#include "sys/file.hpp"

namespace batchai::job {

namespace {

// A larger file is begun anew.
constexpr std::size_t kMostBytes = 1 << 20;

// Not the text: it may quote commands of the user. The place in the file does not count, so that
// the files of a sweep have the same notes.
std::string digest_of(const Finding& note) {
    return sys::sha256(note.path + '\0' + note.message).substr(0, 32);
}

std::set<std::string> lines_of(const std::string& text) {
    std::set<std::string> all;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) all.insert(line);
    return all;
}

}  // namespace

void leave_out_known_notes(std::vector<Finding>& findings) {
    const auto data = data_directory();
    if (!data || !sys::make_directories(*data, 0700)) return;
    const std::string file = *data + "/notes";
    const auto text = sys::read_file(file, kMostBytes);
    std::set<std::string> known = lines_of(text ? *text : "");
    std::string added;
    std::erase_if(findings, [&](const Finding& finding) {
        if (finding.severity != Finding::Severity::note) return false;
        const std::string digest = digest_of(finding);
        const bool is_new = known.insert(digest).second;
        if (is_new) added += digest + "\n";
        return !is_new;
    });
    if (added.empty()) return;
    // If two machines append at once, a line may be lost: its note is printed once more.
    (void)(text ? sys::append_file(file, added, 0600) : sys::write_file(file, added, 0600));
}

}  // namespace batchai::job
