// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/plugstack.hpp"

#include <glob.h>

#include <filesystem>
#include <sstream>

#include "sys/file.hpp"

namespace batchai::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlugin = "spank_batchai.so";
constexpr std::size_t kLargestFile = 1 << 20;
constexpr int kDeepestInclude = 16;

using Lines = std::vector<PlugstackLine>;

sys::Result<void> read(const std::string& file, int depth, Lines& found);

sys::Result<void> include(const std::string& pattern, const std::string& from, int depth,
                          Lines& found) {
    if (depth >= kDeepestInclude) return sys::Error{from + ": files include each other"};
    const std::string whole = fs::path(from).parent_path() / pattern;  // pattern where absolute
    glob_t matches = {};
    ::glob(whole.c_str(), 0, nullptr, &matches);
    const std::vector<std::string> files(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
    ::globfree(&matches);
    for (const std::string& file : files)
        if (auto done = read(file, depth + 1, found); !done) return done;
    return {};
}

sys::Result<void> read(const std::string& file, int depth, Lines& found) {
    const auto text = sys::read_file(file, kLargestFile);
    if (!text) return text.error();
    std::istringstream lines(*text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        std::istringstream words(line.substr(0, line.find('#')));
        std::string kind;
        std::string what;
        if (!(words >> kind >> what)) continue;
        if (kind == "include") {
            if (auto done = include(what, file, depth, found); !done) return done;
        } else if (fs::path(what).filename() == kPlugin) {
            found.push_back({file, number, kind == "required", what, {}});
            for (std::string word; words >> word;) found.back().arguments.push_back(word);
        }
    }
    return {};
}

}  // namespace

std::string PlugstackLine::argument(const std::string& name, const std::string& otherwise) const {
    for (const std::string& text : arguments)
        if (text.starts_with(name + "=")) return text.substr(name.size() + 1);
    return otherwise;
}

sys::Result<std::vector<PlugstackLine>> find_our_lines(const std::string& plugstack_file) {
    Lines found;
    if (auto done = read(plugstack_file, 0, found); !done) return done.error();
    return found;
}

}  // namespace batchai::cli
