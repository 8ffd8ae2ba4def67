// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmi1/protocol.hpp"

#include <fmt/format.h>

#include <charconv>

namespace batchai::launcher::pmi1 {
namespace {

using Event = Reaction::Event;

// Hydra's limits. They include the zero byte that ends a C string.
constexpr std::size_t kMaxName = 256, kMaxKey = 64, kMaxValue = 1024;

// The value of a key in "key=value key=value", up to the next space. The value of the key "value"
// extends to the end of the line.
std::string_view field(std::string_view line, std::string_view key) {
    while (true) {
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        if (line.empty()) return {};
        const std::string_view word = line.substr(0, line.find(' '));
        const std::string_view name = word.substr(0, word.find('='));
        const bool value = name == "value" && name.size() < word.size();
        if (name == key && name.size() < word.size()) {
            return (value ? line : word).substr(name.size() + 1);
        }
        if (value) return {};
        line.remove_prefix(word.size());
    }
}

int number(std::string_view text, int otherwise) {
    std::from_chars(text.data(), text.data() + text.size(), otherwise);
    return otherwise;
}

Reaction broken(std::string why) {
    Reaction reaction;
    reaction.event = Event::broken;
    reaction.why = std::move(why);
    return reaction;
}

std::string refusal(std::string_view command, std::string_view why) {
    return fmt::format("cmd={} rc=-1 msg={}\n", command, why);
}

}  // namespace

void Store::set(std::string_view key, std::string_view value) {
    auto place = values_.find(key);
    if (place == values_.end()) {
        place = values_.emplace(key, "").first;
        bytes_ += key.size();
    }
    bytes_ = bytes_ - place->second.size() + value.size();
    place->second = value;
}

bool Store::put(std::string_view key, std::string_view value) {
    if (bytes_ + key.size() + value.size() > kMaxBytes) return false;
    set(key, value);
    new_.emplace(key);
    return true;
}

const std::string* Store::get(std::string_view key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
}

// Returns lines "KEY VALUE".
std::string Store::take_new() {
    std::string text;
    for (const std::string& key : new_) text += key + " " + values_[key] + "\n";
    new_.clear();
    return text;
}

void Store::merge(std::string_view text) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const auto space = line.find(' ');
        if (space != std::string_view::npos) set(line.substr(0, space), line.substr(space + 1));
    }
}

Reaction Session::on_line(std::string_view line) {
    if (line.size() > kMaxLine) return broken(fmt::format("a line of over {} bytes", kMaxLine));
    if (in_spawn_) return spawn(line);
    if (line == "mcmd=spawn" && joined_ && !in_barrier_) {
        in_spawn_ = true;
        return {};
    }
    const std::string_view command = field(line, "cmd");
    if (command.empty()) return broken("a line that is not a command");
    if (command == "abort") {
        return {Event::aborted, {}, number(field(line, "exitcode"), 1), {}};
    }
    if (command == "init" && joined_) {
        return broken("a second MPI program has begun before the end of the first");
    }
    if (in_barrier_) return broken("a request in a barrier");
    if (command == "initack") return {Event::none, greeting(line), 0, {}};
    if (command == "init") return init(line);
    if (!joined_) return broken("a request before init or after finalize");
    return answer(line, command);
}

// The answer to a program that has connected to PMI_PORT: the values of PMI_SIZE and PMI_RANK.
std::string Session::greeting(std::string_view line) const {
    return fmt::format("cmd=initack rc=0\ncmd=set size={}\ncmd=set rank={}\ncmd=set debug=0\n",
                       job_.size, number(field(line, "pmiid"), 0));
}

Reaction Session::init(std::string_view line) {
    const bool agreed = field(line, "pmi_version") == "1";
    joined_ = agreed;
    return {
        agreed ? Event::joined : Event::none,
        fmt::format("cmd=response_to_init rc={} pmi_version=1 pmi_subversion=1\n", agreed ? 0 : -1),
        0,
        {}};
}

Reaction Session::answer(std::string_view line, std::string_view command) {
    const auto say = [](std::string text) { return Reaction{Event::none, std::move(text), 0, {}}; };
    if (command == "barrier_in") {
        in_barrier_ = true;
        return {Event::barrier, {}, 0, {}};
    }
    if (command == "finalize") {
        joined_ = false;
        return {Event::left, "cmd=finalize_ack rc=0\n", 0, {}};
    }
    if (command == "put") return say(put(line));
    if (command == "get") return say(get(line));
    if (command == "get_maxes") {
        return say(fmt::format("cmd=maxes rc=0 kvsname_max={} keylen_max={} vallen_max={}\n",
                               kMaxName, kMaxKey, kMaxValue));
    }
    if (command == "get_appnum") return say("cmd=appnum rc=0 appnum=0\n");
    if (command == "get_my_kvsname") {
        return say(fmt::format("cmd=my_kvsname rc=0 kvsname={}\n", job_.name));
    }
    if (command == "get_universe_size") {
        return say(fmt::format("cmd=universe_size rc=0 size={}\n", job_.size));
    }
    return say(refusal("error", "not_supported"));
}

std::string Session::put(std::string_view line) {
    const std::string_view key = field(line, "key"), value = field(line, "value");
    if (field(line, "kvsname") != job_.name) return refusal("put_result", "unknown_kvsname");
    if (key.empty() || key.size() >= kMaxKey) return refusal("put_result", "invalid_key");
    if (value.size() >= kMaxValue) return refusal("put_result", "value_too_long");
    if (!store_.put(key, value)) return refusal("put_result", "too_many_keys");
    return "cmd=put_result rc=0 msg=success\n";
}

std::string Session::get(std::string_view line) const {
    const auto found = [](std::string_view value) {
        return fmt::format("cmd=get_result rc=0 msg=success value={}\n", value);
    };
    const std::string_view key = field(line, "key");
    if (field(line, "kvsname") != job_.name) return refusal("get_result", "unknown_kvsname");
    if (const std::string* value = store_.get(key)) return found(*value);
    if (key == "PMI_process_mapping" && job_.mapping.size() < kMaxValue) return found(job_.mapping);
    if (key.starts_with("PMI_")) return found("");  // an unknown reserved key has an empty value
    return refusal("get_result", "key_not_found");
}

// A program to start is one request of many lines. Several programs get one answer.
Reaction Session::spawn(std::string_view line) {
    if (line.starts_with("totspawns=")) spawns_ = line.substr(line.find('=') + 1);
    if (line.starts_with("spawnssofar=")) spawns_so_far_ = line.substr(line.find('=') + 1);
    in_spawn_ = line != "endcmd";
    if (in_spawn_ || spawns_ != spawns_so_far_) return {};
    return {Event::spawn, refusal("spawn_result", "not_supported"), 0, {}};
}

std::string Session::end_barrier(bool complete) {
    in_barrier_ = false;
    return complete ? "cmd=barrier_out rc=0\n" : refusal("error", "a_rank_has_ended");
}

}  // namespace batchai::launcher::pmi1
