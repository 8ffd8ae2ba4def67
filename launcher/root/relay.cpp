// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/relay.hpp"

#include <pmix_common.h>

#include <algorithm>

namespace batchai::launcher {

bool PublishedNames::publish(const std::vector<Item>& items) {
    const auto taken = [this](const Item& item) { return items_.contains(item.key); };
    if (std::any_of(items.begin(), items.end(), taken)) return false;
    for (const Item& item : items) items_[item.key] = item;
    return true;
}

std::vector<Item> PublishedNames::lookup(const std::vector<std::string>& keys) const {
    std::vector<Item> found;
    for (const std::string& key : keys) {
        if (const auto item = items_.find(key); item != items_.end()) found.push_back(item->second);
    }
    return found;
}

void PublishedNames::unpublish(std::uint32_t owner, const std::vector<std::string>& keys) {
    std::erase_if(items_, [&](const auto& entry) {
        const bool named =
            keys.empty() || std::find(keys.begin(), keys.end(), entry.first) != keys.end();
        return named && entry.second.owner == owner;
    });
}

void Relay::on_message(int node, Kind kind, Reader& reader) {
    const RankMap& map = jobs_.map();
    const auto is_node = [&map](int n) { return n >= 0 && n < static_cast<int>(map.nodes.size()); };
    if (Joined joined; kind == Kind::joined && decode(reader, joined)) {
        const std::pair place{joined.job, node};
        joined.any ? (void)joined_.insert(place) : (void)joined_.erase(place);
    } else if (Fence fence; kind == Kind::fence && decode(reader, fence)) {
        broken_.insert(fence.broken.begin(), fence.broken.end());
        if (const auto whole = fences_.add(node, std::move(fence), map)) finish(*whole);
    } else if (Left left; kind == Kind::left && decode(reader, left)) {
        for (const Fence& whole : fences_.leave(left.rank, map)) finish(whole);
    } else if (MissingRank missing; kind == Kind::missing_rank && decode(reader, missing)) {
        if (missing.rank >= 0 && missing.rank < map.size()) missing_rank_ = missing.rank;
    } else if (ModexRequest request; kind == Kind::modex_request && decode(reader, request)) {
        if (request.rank < static_cast<std::uint32_t>(map.size())) {
            nodes_.send(map.node_of(static_cast<int>(request.rank)), request);
        }
    } else if (ModexReply reply; kind == Kind::modex_reply && decode(reader, reply)) {
        if (is_node(reply.origin)) nodes_.send(reply.origin, reply);
    } else if (Publish items; kind == Kind::publish && decode(reader, items)) {
        publish(node, items);
    } else if (Lookup lookup; kind == Kind::lookup && decode(reader, lookup)) {
        Waiting waiting{node, std::move(lookup)};
        if (!answer(waiting)) waiting_.push_back(std::move(waiting));
    } else if (Unpublish names; kind == Kind::unpublish && decode(reader, names)) {
        published_.unpublish(names.owner, names.keys);
        nodes_.send(node, StoreReply{names.id, PMIX_SUCCESS, {}});
    } else if (Notification event; kind == Kind::notification && decode(reader, event)) {
        const Frame whole = frame(event);
        for (int other = 0; other < nodes_.size(); ++other) {
            if (other != node && map.local_size(other) > 0) nodes_.send(other, whole);
        }
    } else if (GlooRequest asked; kind == Kind::gloo_request && decode(reader, asked)) {
        nodes_.send(node, GlooReply{asked.id, values_.answer(asked.request)});
    }
}

void Relay::finish(const Fence& whole) {
    if (const int rank = fences_.missing_rank(whole.id); rank >= 0) missing_rank_ = rank;
    const auto children = fences_.branches(whole.id.procs, jobs_.map());
    in_pieces(whole, next_serial_++, [&](const FenceDone& piece) {
        const Frame message = frame(piece);
        for (int child : children) nodes_.send(child, message);
    });
}

void Relay::on_gone(const RankEnd& end) {
    if (end.pmix == RankEnd::Pmix::joined) gone_.push_back(end.rank);
    if (end.pmix == RankEnd::Pmix::never_joined) never_joined_.push_back(end.rank);
}

int Relay::awaited() const {
    if (missing_rank_ >= 0) return missing_rank_;
    // A rank that has joined cannot complete its first fence without all other ranks of its job.
    for (const int rank : never_joined_) {
        const int job = jobs_.of(rank).first;
        const auto joined = joined_.lower_bound({job, 0});
        if (joined != joined_.end() && joined->first == job) return rank;
    }
    for (int rank : gone_) {
        if (broken_.contains(jobs_.map().node_of(rank))) return rank;
    }
    return fences_.blocked_by(gone_, jobs_.map());
}

void Relay::publish(int node, const Publish& message) {
    const bool stored = published_.publish(message.items);
    nodes_.send(node, StoreReply{message.id, stored ? PMIX_SUCCESS : PMIX_ERR_DUPLICATE_KEY, {}});
    if (stored) std::erase_if(waiting_, [this](const Waiting& w) { return answer(w); });
}

bool Relay::answer(const Waiting& waiting) {
    std::vector<Item> found = published_.lookup(waiting.lookup.keys);
    const bool all = found.size() == waiting.lookup.keys.size();
    if (!all && waiting.lookup.wait) return false;
    const int status = found.empty() ? PMIX_ERR_NOT_FOUND
                       : all         ? PMIX_SUCCESS
                                     : PMIX_ERR_PARTIAL_SUCCESS;
    nodes_.send(waiting.node, StoreReply{waiting.lookup.id, status, std::move(found)});
    return true;
}

}  // namespace batchai::launcher
