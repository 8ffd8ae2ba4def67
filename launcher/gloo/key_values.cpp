// SPDX-License-Identifier: Apache-2.0
#include "launcher/gloo/key_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace batchai::launcher::gloo {
namespace {

constexpr std::string_view kLine = "\r\n", kEndOfHead = "\r\n\r\n";
constexpr std::size_t kOverhead = 128;  // approximate overhead of an entry in bytes

std::string response(std::string_view status, std::string_view body = {}) {
    return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", status,
                       body.size(), body);
}

bool equal_ignoring_case(std::string_view left, std::string_view right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) ==
               std::tolower(static_cast<unsigned char>(b));
    });
}

// -1: the text is not a number.
int number_of(std::string_view text) {
    int number = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

// Reads the length from "Content-Length: 12". Other headers are ignored.
bool read_length(std::string_view line, std::size_t& length) {
    const auto colon = line.find(':');
    if (colon == line.npos) return false;
    const std::string_view name = line.substr(0, colon);
    if (equal_ignoring_case(name, "Transfer-Encoding")) return false;
    if (!equal_ignoring_case(name, "Content-Length")) return true;
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
    return error == std::errc() && end == value.data() + value.size();
}

// Parses "GET /scope/key HTTP/1.1".
bool read_request_line(std::string_view line, Request& request) {
    const auto space = line.find(' ');
    if (space == line.npos) return false;
    const auto second = line.find(' ', space + 1);
    if (second == line.npos || !line.substr(second + 1).starts_with("HTTP/1.")) return false;
    const std::string_view path = line.substr(space + 1, second - space - 1);
    const auto slash = path.find('/', 1);
    if (!path.starts_with("/") || slash == path.npos || slash == 1 || slash + 1 == path.size() ||
        path.find('/', slash + 1) != path.npos) {
        return false;
    }
    request.method = line.substr(0, space);
    request.scope = path.substr(1, slash - 1);
    request.key = path.substr(slash + 1);
    return true;
}

}  // namespace

RequestReader::State RequestReader::add(std::string_view bytes) {
    bytes_.append(bytes);
    if (body_at_ == 0) {
        const auto end = bytes_.find(kEndOfHead);
        if (std::min(end, bytes_.size()) > kMostHead) return State::too_large;
        if (end == bytes_.npos) return State::incomplete;
        body_at_ = end + kEndOfHead.size();
        const State state = read_head(std::string_view(bytes_).substr(0, end));
        if (state != State::complete) return state;
    }
    if (bytes_.size() - body_at_ < body_size_) return State::incomplete;
    request_.body = bytes_.substr(body_at_, body_size_);
    return State::complete;
}

RequestReader::State RequestReader::read_head(std::string_view head) {
    auto end = head.find(kLine);
    if (!read_request_line(head.substr(0, end), request_)) return State::bad;
    while (end != head.npos) {
        head.remove_prefix(end + kLine.size());
        end = head.find(kLine);
        if (!read_length(head.substr(0, end), body_size_)) return State::bad;
    }
    return body_size_ > kMostBody ? State::too_large : State::complete;
}

KeyValues::KeyValues(const RankMap& map) {
    sizes_["global"] = map.size();
    for (int node = 0; node < static_cast<int>(map.nodes.size()); ++node) {
        const int ranks = map.local_size(node);
        if (ranks > 0) sizes_["local_" + map.nodes[node]] = ranks;
        for (int local = 0; local < ranks; ++local) ++sizes_["cross_" + std::to_string(local)];
    }
}

std::string KeyValues::answer(const Request& request) {
    if (request.method == "GET") {
        const auto scope = scopes_.find(request.scope);
        if (scope == scopes_.end()) return response("404 Not Found");
        const auto value = scope->second.values.find(request.key);
        if (value == scope->second.values.end()) return response("404 Not Found");
        return response("200 OK", value->second);
    }
    if (request.method == "PUT") {
        return response(put(request) ? "200 OK" : "507 Insufficient Storage");
    }
    if (request.method == "DELETE") {
        remove(request);
        return response("200 OK");
    }
    return response("405 Method Not Allowed");
}

std::string KeyValues::refusal(RequestReader::State why) {
    return response(why == RequestReader::State::too_large ? "413 Content Too Large"
                                                           : "400 Bad Request");
}

bool KeyValues::put(const Request& request) {
    const std::size_t size = kOverhead + request.scope.size() + request.key.size();
    auto& values = scopes_[request.scope].values;
    const auto old = values.find(request.key);
    const std::size_t before = old == values.end() ? 0 : size + old->second.size();
    if (bytes_ - before + size + request.body.size() > kMost) {
        if (values.empty()) scopes_.erase(request.scope);
        return false;
    }
    bytes_ += size + request.body.size() - before;
    values[request.key] = request.body;
    return true;
}

void KeyValues::remove(const Request& request) {
    const auto scope = scopes_.find(request.scope);
    if (scope == scopes_.end()) return;
    auto& [name, content] = *scope;
    const auto size = sizes_.find(name);
    if (size != sizes_.end()) {
        const int rank = number_of(request.key);
        if (rank < 0 || rank >= size->second) return;
        content.over.insert(rank);
        if (static_cast<int>(content.over.size()) < size->second) return;
        for (const auto& [key, value] : content.values) forget(name, key, value);
        content.values.clear();
    } else if (const auto value = content.values.find(request.key); value != content.values.end()) {
        forget(name, value->first, value->second);
        content.values.erase(value);
    }
    if (content.values.empty()) scopes_.erase(scope);
}

void KeyValues::forget(const std::string& scope, const std::string& key, const std::string& value) {
    bytes_ -= kOverhead + scope.size() + key.size() + value.size();
}

}  // namespace batchai::launcher::gloo
