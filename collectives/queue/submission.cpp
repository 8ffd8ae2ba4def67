// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/submission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace batchai::coll {
namespace {

// A key is a Head, the name, the text, and each part's numbers; in the machine's own byte order.
struct Head {
    std::uint32_t name = 0, text = 0, parts = 0;  // bytes, bytes, how many
    std::int32_t priority = 0;
    std::uint32_t named = 1;
};

struct PartKey {
    std::uint64_t count = 0;
    double before = 1, after = 1;
    std::uint64_t type = 0, op = 0;  // wide: no padding
};

template <class T>
void append(std::string& key, const T& value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
T take(std::string_view& key) {
    T value;
    std::memcpy(&value, key.data(), sizeof value);
    key.remove_prefix(sizeof value);
    return value;
}

}  // namespace

void set_key(Submission& submission, std::string_view name, std::string_view text) {
    std::string& key = submission.key;
    key.clear();
    append(key,
           Head{static_cast<std::uint32_t>(name.size()), static_cast<std::uint32_t>(text.size()),
                static_cast<std::uint32_t>(submission.parts.size()), submission.priority,
                submission.named ? 1u : 0u});
    key.append(name).append(text);
    for (const Part& part : submission.parts) {
        const Signature& signature = part.signature;
        append(key, PartKey{signature.count, signature.before, signature.after, signature.type,
                            signature.op});
    }
    submission.id = -1;
    submission.hash = hash_of(key);
}

std::string_view name_of(std::string_view key) {
    const auto head = take<Head>(key);
    return key.substr(0, head.name);
}

std::string describe_key(std::string_view key) {
    constexpr std::uint32_t kShown = 4;
    const auto head = take<Head>(key);
    key.remove_prefix(head.name);
    const std::string_view text = key.substr(0, head.text);
    key.remove_prefix(head.text);
    std::string description;
    for (std::uint32_t p = 0; p < std::min(head.parts, kShown); ++p) {
        const auto part = take<PartKey>(key);
        Signature signature;
        signature.kind = Kind::allreduce;
        signature.count = part.count;
        signature.before = part.before;
        signature.after = part.after;
        signature.type = static_cast<std::uint8_t>(part.type);
        signature.op = static_cast<std::uint8_t>(part.op);
        description += (p == 0 ? "" : ", ") + describe(signature);
    }
    if (head.parts > kShown) description += fmt::format(" and {} more", head.parts - kShown);
    if (!text.empty()) description += (description.empty() ? "" : " ") + std::string(text);
    if (head.priority != 0) description += fmt::format(", priority {}", head.priority);
    return description;
}

bool is_named(std::string_view key) {
    return take<Head>(key).named != 0;
}

std::string_view Submission::name() const {
    return name_of(key);
}

std::string Submission::description() const {
    return describe_key(key);
}

// FNV-1a, by words: the same on all ranks, whatever their standard library.
std::uint64_t hash_of(std::string_view key) {
    std::uint64_t hash = 0xcbf29ce484222325ull;
    while (!key.empty()) {
        std::uint64_t word = 0;
        const std::size_t length = std::min(key.size(), sizeof word);
        std::memcpy(&word, key.data(), length);
        key.remove_prefix(length);
        hash = (hash ^ word) * 0x100000001b3ull;
        hash ^= hash >> 29;
    }
    return hash;
}

}  // namespace batchai::coll
