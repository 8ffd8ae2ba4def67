// SPDX-License-Identifier: Apache-2.0
//
// configure --defaults: the user's own default group, workspace and experiment, kept in
// <data directory>/defaults.json.
#include <array>
#include <memory>

#include "cli/command_options.hpp"
#include "cli/output/result_text.hpp"
#include "cli/verbs.hpp"
#include "job/snapshot.hpp"
#include "sys/directories.hpp"
#include "sys/file.hpp"

namespace batchai::cli {
namespace {

using nlohmann::json;

constexpr std::array<const char*, 3> kNames{"group", "workspace", "experiment"};
constexpr std::size_t kMostBytes = 64 << 10;

sys::Result<std::string> file_name() {
    auto directory = job::data_directory();
    if (!directory) return directory;
    return *directory + "/defaults.json";
}

// {"group": NAME, …}
json read_defaults() {
    const auto file = file_name();
    const auto text = file ? sys::read_file(*file, kMostBytes) : file.error();
    json defaults = text ? json::parse(*text, nullptr, false) : json();
    return defaults.is_object() ? defaults : json::object();
}

sys::Result<void> write_defaults(const json& defaults) {
    const auto directory = job::data_directory();
    if (!directory) return directory.error();
    if (auto made = sys::make_directories(*directory, 0700); !made) return made.error();
    return sys::write_file(*directory + "/defaults.json", json_text(defaults, 2) + "\n", 0600);
}

// Takes one NAME=VALUE. An empty value removes the default, as in az.
sys::Result<void> take(json& defaults, const std::string& word) {
    const auto equals = word.find('=');
    if (equals == word.npos)
        return sys::Error{"--defaults " + word + ": expected NAME=VALUE, such as group=mygroup"};
    const std::string name = word.substr(0, equals);
    std::string value = word.substr(equals + 1);
    if (name == "location") return {};  // every -l is without meaning here
    if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) {
        note("--defaults " + name +
             ": has no effect here: only group, workspace and experiment do");
        return {};
    }
    const CLI::Validator& check = name == "group" ? kGroupName : kName;
    if (std::string wrong = value.empty() ? "" : check(value); !wrong.empty())
        return sys::Error{"--defaults " + word + ": " + wrong};
    defaults[name] = value;
    if (value.empty()) defaults.erase(name);
    return {};
}

int configure(const Session& session, const std::vector<std::string>& words, bool list) {
    json defaults = read_defaults();
    for (const std::string& word : words)
        if (auto taken = take(defaults, word); !taken) return fail(kBadInput, taken.error());
    if (!words.empty())
        if (auto done = write_defaults(defaults); !done) return fail(kFailed, done.error());
    if (!words.empty() && !list) return kOk;
    json all = json::array();
    for (const char* name : kNames)
        if (defaults.contains(name))
            all.push_back({{"name", name}, {"source", "user"}, {"value", defaults[name]}});
    return session.print(all);
}

}  // namespace

const Scope& configured_scope() {
    static const Scope scope = [] {
        const json defaults = read_defaults();
        const auto name = [&defaults](const char* key) {
            const json value = defaults.value(key, json());
            return value.is_string() ? value.get<std::string>() : "";
        };
        return Scope{name("group"), name("workspace"), name("experiment")};
    }();
    return scope;
}

void add_configure(CLI::App& parent, Session& session) {
    CLI::App* verb =
        add_verb(parent, session, "configure", "your default group, workspace and experiment",
                 "batchai configure --defaults group=mygroup workspace=mywork");
    const auto words = std::make_shared<std::vector<std::string>>();
    const auto list = std::make_shared<bool>(false);
    verb->add_option("-d,--defaults", *words,
                     "group=, workspace= or experiment=NAME; without NAME, none")
        ->expected(1, -1)
        ->take_all();
    ignore_options(*verb, {"--scope"});
    verb->add_flag("-l,--list-defaults", *list, "print them, as without --defaults");
    verb->callback([=, &session] {
        session.action = [=, &session] { return configure(session, *words, *list); };
    });
}

}  // namespace batchai::cli
