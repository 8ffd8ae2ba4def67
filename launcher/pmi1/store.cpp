// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmi1/store.hpp"

namespace batchai::launcher::pmi1 {

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

}  // namespace batchai::launcher::pmi1
