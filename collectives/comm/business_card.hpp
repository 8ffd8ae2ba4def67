// SPDX-License-Identifier: Apache-2.0
//
// The data that ranks publish as they join a communicator (bootstrap.hpp) or allocate memory
// together, encoded by sys/codec.hpp.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/comm/bootstrap.hpp"
#include "collectives/transport/link.hpp"
#include "collectives/watch/rendezvous.hpp"
#include "sys/codec.hpp"
#include "sys/result.hpp"

namespace batchai::coll {

// The keys of a rank that joins, in the order of use.
inline constexpr char kIntroduction[] = "introduction", kCard[] = "card", kResult[] = "result";

// The first message of a rank to all others.
struct Introduction {
    std::string node, host;
    int pid = 0;
    std::uint64_t mark_address = 0, mark = 0;  // ReadMark

    BATCHAI_FIELDS(node, host, pid, mark_address, mark)
};

// What a rank publishes for the others. The first rank of a node has the path of the node's memory
// and the watchdog's invitation; a rank on a rail has its address and the ports that UCX listens
// on. The card of a rank that has failed is empty.
struct BusinessCard {
    std::string memory;
    Invitation invitation;
    std::vector<std::uint16_t> ports;
    std::string address;

    BATCHAI_FIELDS(memory, invitation, ports, address)
};

// The last message of a rank that joins.
struct JoinResult {
    std::string error;        // empty: it has joined
    std::vector<Link> links;  // the cost that it has measured, at most one
    bool reads = false;       // it can read the memory of all ranks (Reader)

    BATCHAI_FIELDS(error, links, reads)
};

// The memory that a rank asks for or gives to the other ranks of its node.
struct MemoryPart {
    std::string error;  // empty: none
    std::uint64_t bytes = 0;
    std::string path;

    BATCHAI_FIELDS(error, bytes, path)
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
