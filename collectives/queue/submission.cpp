// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/submission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace batchai::coll {

namespace {

// A key consists of a Head, the text, the numbers of each part, and the name, in the machine's own
// byte order.
struct Head {
    std::uint32_t text = 0, parts = 0;  // text: bytes; parts: their number
    std::int32_t priority = 0;
    std::uint8_t named = 1, join = 0;
    std::uint16_t on_device = 0;
};

struct PartKey {
    std::uint64_t count = 0;
    double before = 1, after = 1;
    std::uint64_t type = 0, op = 0;  // 64 bits, to avoid padding
};

template <class T>
T take(std::string_view& key) {
    T value;
    std::memcpy(&value, key.data(), sizeof value);
    key.remove_prefix(sizeof value);
    return value;
}

Signature signature_of(const PartKey& part, bool on_device) {
    Signature signature;
    signature.kind = Kind::allreduce;
    signature.count = part.count;
    signature.before = part.before;
    signature.after = part.after;
    signature.type = static_cast<std::uint8_t>(part.type);
    signature.op = static_cast<std::uint8_t>(part.op);
    signature.on_devices = on_device;
    return signature;
}

}  // namespace

std::size_t bytes_of(std::span<const Part> parts) {
    std::size_t sum = 0;
    for (const Part& part : parts) sum += bytes_of(part.signature);
    return sum;
}

std::size_t bytes_of(std::span<Submission* const> submissions) {
    std::size_t sum = 0;
    for (const Submission* submission : submissions) sum += bytes_of(submission->parts);
    return sum;
}

void set_key(Submission& submission, std::string_view name, std::string_view text) {
    const std::vector<Part>& parts = submission.parts;
    submission.key.resize(sizeof(Head) + text.size() + parts.size() * sizeof(PartKey) +
                          name.size());
    char* at = submission.key.data();
    const auto put = [&at](const void* data, std::size_t bytes) {
        if (bytes > 0) std::memcpy(at, data, bytes);
        at += bytes;
    };
    const Head head{static_cast<std::uint32_t>(text.size()),
                    static_cast<std::uint32_t>(parts.size()),
                    submission.priority,
                    static_cast<std::uint8_t>(submission.named ? 1 : 0),
                    static_cast<std::uint8_t>(submission.join ? 1 : 0),
                    static_cast<std::uint16_t>(submission.on_device() ? 1 : 0)};
    put(&head, sizeof head);
    put(text.data(), text.size());
    for (const Part& part : parts) {
        const Signature& signature = part.signature;
        const PartKey key{signature.count, signature.before, signature.after, signature.type,
                          signature.op};
        put(&key, sizeof key);
    }
    put(name.data(), name.size());
    submission.id = -1;
    submission.hash = hash_of(identity_of(submission.key));
}

bool repeats(const Submission& last, std::span<const Part> parts, bool on_device, int priority,
             std::string_view text) {
    if (last.key.empty() || last.priority != priority || last.parts.size() != parts.size()) {
        return false;
    }
    std::string_view key = last.key;
    const auto head = take<Head>(key);
    return key.substr(0, head.text) == text && head.on_device == (on_device ? 1 : 0) &&
           std::equal(parts.begin(), parts.end(), last.parts.begin(),
                      [](const Part& a, const Part& b) { return a.signature == b.signature; });
}

std::string_view name_of(std::string_view key) {
    const auto head = take<Head>(key);
    return key.substr(head.text + head.parts * sizeof(PartKey));
}

std::string_view identity_of(std::string_view key) {
    return is_named(key) ? key : key.substr(0, key.size() - name_of(key).size());
}

bool is_named(std::string_view key) {
    return take<Head>(key).named != 0;
}

bool is_join(std::string_view key) {
    return take<Head>(key).join != 0;
}

bool takes_zeros(std::string_view key) {
    const auto head = take<Head>(key);
    key.remove_prefix(head.text);
    bool summed = true;
    for (std::uint32_t p = 0; p < head.parts; ++p) {
        const std::uint64_t op = take<PartKey>(key).op;
        summed = summed && (op == BATCHAI_COLL_SUM || op == BATCHAI_COLL_AVERAGE);
    }
    return summed && head.parts > 0 && head.on_device == 0;
}

Zeros zeros_for(std::string_view key) {
    Zeros zeros;
    zeros.submission.key = key;
    zeros.submission.hash = hash_of(identity_of(key));
    const auto head = take<Head>(key);
    zeros.submission.priority = head.priority;
    key.remove_prefix(head.text);
    for (std::uint32_t p = 0; p < head.parts; ++p) {
        const Signature signature = signature_of(take<PartKey>(key), false);
        std::byte* memory = zeros.memory.emplace_back(bytes_of(signature)).data();
        zeros.submission.parts.push_back({signature, memory, memory});
    }
    return zeros;
}

std::string describe_key(std::string_view key) {
    constexpr std::uint32_t kShown = 4;
    const auto head = take<Head>(key);
    const std::string_view text = key.substr(0, head.text);
    key.remove_prefix(head.text);
    std::string description;
    for (std::uint32_t p = 0; p < std::min(head.parts, kShown); ++p) {
        description +=
            (p == 0 ? "" : ", ") + describe(signature_of(take<PartKey>(key), head.on_device != 0));
    }
    if (head.parts > kShown) description += fmt::format(" and {} more", head.parts - kShown);
    if (!text.empty()) description += (description.empty() ? "" : " ") + std::string(text);
    if (head.priority != 0) description += fmt::format(", priority {}", head.priority);
    return description;
}

std::string_view Submission::name() const {
    return name_of(key);
}

// FNV-1a, by words: equal on all ranks, whatever their standard library is.
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

void ResponseCache::clear() {
    ++book_;
    ids_.clear();
    first_of_name_.clear();
    keys_.clear();
    shared_names_ = 0;
}

void ResponseCache::add(std::string_view identity) {
    const std::uint64_t hash = hash_of(identity);
    if (ids_.contains({hash, identity})) return;
    const auto id = static_cast<int>(keys_.size());
    keys_.push_back({std::make_unique<std::string>(identity), -1});
    const std::string& key = *keys_.back().key;
    ids_.emplace(Key{hash, key}, id);
    if (!is_named(key)) return;
    Entry& first =
        keys_[static_cast<std::size_t>(first_of_name_.emplace(name_of(key), id).first->second)];
    if (first.key.get() == &key) return;
    if (first.shared_name < 0) first.shared_name = static_cast<int>(shared_names_++);
    keys_.back().shared_name = first.shared_name;
}

void ResponseCache::identify(Submission& submission) const {
    if (submission.id >= 0 && submission.book == book_) return;
    const auto found = ids_.find({submission.hash, identity_of(submission.key)});
    submission.id = found == ids_.end() ? -1 : found->second;
    submission.book = book_;
}

}  // namespace batchai::coll
