// SPDX-License-Identifier: Apache-2.0
//
// The data that ranks publish as they join a communicator (bootstrap.hpp), encoded by
// sys/codec.hpp.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/comm/bootstrap.hpp"
#include "sys/codec.hpp"
#include "sys/result.hpp"

namespace batchai::coll {

// The keys, in the order of use. A rank's result begins with kJoined if the rank has joined.
inline constexpr char kIntroduction[] = "introduction", kOffer[] = "offer", kResult[] = "result";
inline constexpr std::string_view kJoined = "joined";

// The first message of a rank to all others.
struct Introduction {
    std::string node, host;
    int pid = 0;

    template <class Archive>
    void fields(Archive& archive) {
        archive(node, host, pid);
    }
};

// The offer of a rank. The first rank of a node offers the path of the node's memory and the
// watchdog's invitation; a rank on a rail offers its address and the ports that UCX listens on. A
// rank that has failed offers nothing.
struct Offer {
    std::string memory;
    std::string invitation;
    std::vector<std::uint16_t> ports;
    std::string address;

    template <class Archive>
    void fields(Archive& archive) {
        archive(memory, invitation, ports, address);
    }
};

// The message that another rank has published under the key.
template <class Message>
sys::Result<Message> look_up(const Bootstrap& bootstrap, int rank, const char* key) {
    const auto bytes = bootstrap.lookup(rank, key);
    if (!bytes) return bytes.error();
    auto message = sys::decode_whole<Message>(*bytes);
    if (!message) return sys::Error{fmt::format("cannot decode the {} of rank {}", key, rank)};
    return *std::move(message);
}

}  // namespace batchai::coll
