// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/viewers.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "launcher/common/bootstrap.hpp"
#include "launcher/common/exit_code.hpp"
#include "launcher/common/say.hpp"
#include "sys/clock.hpp"
#include "sys/file.hpp"

namespace batchai::launcher {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;  // of the document
// Rates need two answers. The second question comes soon, so that the first look takes no second.
constexpr std::chrono::milliseconds kSoon{500}, kSecond{1000};
constexpr std::size_t kViewFile = 64 << 10;

Json known(double value) {
    return value < 0 ? Json() : Json(value);
}

Json json_of(const RankSample& sample, const NodeView& node, const RankMap& map) {
    // A rank of a further job has no GPU of its own.
    const bool is_further = !map.further.empty() && sample.rank >= map.further.front();
    const int gpus = is_further ? 0 : node.gpus;
    return {{"rank", sample.rank},
            {"name", map.name(sample.rank)},
            {"node", node.name},
            {"process", sample.pid},
            {"state", sample.state == 0 ? Json() : Json(std::string(1, sample.state))},
            {"cores", known(sample.cpu)},
            {"memory", sample.memory},
            {"gpu", gpus > 0 ? Json(map.local_rank(sample.rank) % gpus) : Json()},
            {"inLibrary", sample.in_library},
            {"operation", sample.operation},
            {"operationsPerSecond", known(sample.operations)},
            {"waiting", known(sample.waiting)},
            {"waitsIn", sample.what.empty() ? Json() : Json(sample.what)},
            {"waitsFor", sample.missing},
            {"silent", sample.silent},
            {"line", sample.line}};
}

Json json_of(const NodeView& node) {
    Json json{{"node", node.name}, {"memory", nullptr}, {"memoryLimit", nullptr}};
    json["gpus"] = Json::array();
    if (!node.sampled) return json;
    json["memory"] = node.sampled->memory;
    json["memoryLimit"] = node.sampled->limit;
    for (const GpuSample& gpu : node.sampled->gpus)
        json["gpus"].push_back({{"gpu", gpu.gpu},
                                {"busy", gpu.busy / 100.0},
                                {"memory", gpu.memory},
                                {"memoryLimit", gpu.limit}});
    return json;
}

}  // namespace

// In a step that a slow rank holds up, the others wait and the slow one does not. So it is the rank
// with the smallest share, if the others' are much larger. As many as half of the ranks may be
// slow.
Culprits find_culprits(const std::vector<NodeView>& nodes) {
    constexpr double kLess = 0.2, kAlike = 0.1;
    std::vector<std::pair<double, int>> shares;  // of waiting; the rank
    for (const NodeView& node : nodes) {
        if (!node.sampled) continue;
        for (const RankSample& sample : node.sampled->ranks)
            if (sample.waiting >= 0) shares.emplace_back(sample.waiting, sample.rank);
    }
    std::sort(shares.begin(), shares.end());
    const auto others = std::find_if(shares.begin(), shares.end(), [&shares](const auto& share) {
        return share.first > shares.front().first + kAlike;
    });
    const auto slow = others - shares.begin(), count = shares.end() - others;
    if (count == 0 || slow > count) return {};
    Culprits culprits;
    for (auto share = others; share != shares.end(); ++share)
        culprits.share += share->first / static_cast<double>(count);
    for (auto share = shares.begin(); share != others; ++share)
        culprits.ranks.push_back(share->second);
    std::sort(culprits.ranks.begin(), culprits.ranks.end());
    return culprits.share >= shares.front().first + kLess ? culprits : Culprits();
}

std::string view_of(const JobFacts& facts, const std::vector<NodeView>& nodes, const RankMap& map,
                    double time) {
    Json document{{"version", kVersion},        {"time", time},
                  {"restarts", facts.attempt},  {"maxRestarts", facts.max_restarts},
                  {"requeues", facts.requeues}, {"awaited", nullptr},
                  {"nodes", Json::array()},     {"ranks", Json::array()}};
    if (const Culprits culprits = find_culprits(nodes); !culprits.ranks.empty())
        document["awaited"] = {{"ranks", culprits.ranks},
                               {"names", map.names(culprits.ranks)},
                               {"share", culprits.share}};
    std::vector<std::pair<const RankSample*, const NodeView*>> ranks;
    for (const NodeView& node : nodes) {
        document["nodes"].push_back(json_of(node));
        if (!node.sampled) continue;
        for (const RankSample& sample : node.sampled->ranks) ranks.emplace_back(&sample, &node);
    }
    std::sort(ranks.begin(), ranks.end(),
              [](const auto& a, const auto& b) { return a.first->rank < b.first->rank; });
    for (const auto& [sample, node] : ranks)
        document["ranks"].push_back(json_of(*sample, *node, map));
    // A rank's line may contain bytes that are not UTF-8.
    return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Viewers::Viewers(Loop& loop, Nodes& nodes, const RankMap& map)
    : loop_(loop), nodes_(nodes), map_(map), second_(loop, [this] { ask(); }) {}

sys::Result<void> Viewers::open(const std::vector<std::string>& addresses,
                                const std::string& record, const JobFacts& facts) {
    facts_ = facts;
    Bootstrap view;
    view.key = random_text();
    auto key = TlsKey::make(view.key);
    if (!key) return key.error();
    key_ = *std::move(key);
    std::vector<Listener> listeners;
    for (const std::string& address : addresses) {
        auto listener = listen_at(address, "batchai top");
        if (!listener) return listener.error();
        view.endpoints.push_back(listener->endpoint);
        listeners.push_back(*std::move(listener));
    }
    const std::string file = record + "/view";
    content_ = encode(view);
    if (auto written = sys::write_file(file, content_, 0600); !written) return written;
    file_ = file;
    door_ = std::make_unique<Door>(loop_, *key_, std::move(listeners),
                                   [this](Link link) { admit(std::move(link)); });
    return {};
}

void Viewers::close() {
    // After a requeue, the file may be that of the job's next launcher.
    if (const auto content = sys::read_file(file_, kViewFile); content && *content == content_)
        (void)::unlink(file_.c_str());
    file_.clear();
    second_.stop();
    door_.reset();
    viewers_.clear();
}

void Viewers::admit(Link link) {
    std::erase_if(viewers_, [](const auto& viewer) { return viewer->closed(); });
    if (viewers_.size() == kMost) return;
    auto& viewer = viewers_.emplace_back();
    viewer = std::make_unique<Channel>(loop_, std::move(link),
                                       Channel::Callbacks{[](Kind, Reader&) {}, [] {}});
    // Another question, soon after the last, would measure too short a time for all viewers.
    if (second_.active()) return;
    second_.start(kSoon, kSecond);
    ask();
}

void Viewers::ask() {
    std::erase_if(viewers_, [](const auto& viewer) { return viewer->closed(); });
    if (viewers_.empty()) return second_.stop();
    if (unanswered_ > 0) tell();  // an agent is late
    views_.resize(static_cast<std::size_t>(nodes_.size()));
    unanswered_ = 0;
    for (int node = 0; node < nodes_.size(); ++node) {
        views_[node].name = nodes_[node].name;
        views_[node].gpus = nodes_[node].hello.gpus;
        const bool runs =
            !map_.first.empty() && !nodes_[node].done && nodes_[node].channel != nullptr;
        if (!runs) {
            views_[node].sampled.reset();
            continue;
        }
        nodes_.send(node, Sample{});
        ++unanswered_;
    }
    if (unanswered_ == 0) tell();
}

bool Viewers::on_message(int node, Kind kind, Reader& reader) {
    Sampled sampled;
    if (kind != Kind::sampled || !decode(reader, sampled)) return false;
    if (static_cast<std::size_t>(node) >= views_.size()) return true;
    std::erase_if(sampled.ranks, [this](const RankSample& sample) {
        return sample.rank < 0 || sample.rank >= map_.size();
    });
    views_[node].sampled = std::move(sampled);
    if (unanswered_ > 0 && --unanswered_ == 0) tell();
    return true;
}

void Viewers::tell() {
    const Frame document = frame(View{view_of(facts_, views_, map_, sys::wall_clock())});
    for (const auto& viewer : viewers_)
        if (!viewer->closed() && viewer->idle()) viewer->send(document);
}

// ---- the other end ------------------------------------------------------------------------------

namespace {

sys::Result<void> print_views(const std::string& file) {
    const auto text = sys::read_file(file, kViewFile);
    if (!text) return text.error();
    const auto view = decode_bootstrap(*text);
    if (!view) return sys::Error{file + ": not a file of batchai-launch"};
    const auto key = TlsKey::make(view->key);
    if (!key) return key.error();
    auto link = connect_to(view->endpoints, *key);
    if (!link) return link.error().in("the job's batchai-launch");
    Loop loop;
    bool written = true;
    const Channel channel(loop, *std::move(link),
                          {[&](Kind kind, Reader& reader) {
                               View one;
                               if (kind != Kind::view || !decode(reader, one)) return;
                               written =
                                   std::puts(one.document.c_str()) >= 0 && std::fflush(stdout) == 0;
                               if (!written) loop.stop();
                           },
                           [&loop] { loop.stop(); }});
    loop.run();
    return written ? sys::Result<void>() : sys::errno_error("standard output");
}

}  // namespace

int attach(const std::string& file) {
    const auto printed = print_views(file);
    if (printed) return 0;
    say(printed.error().message);
    return kOwnFailure;
}

}  // namespace batchai::launcher
