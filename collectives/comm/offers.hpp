// SPDX-License-Identifier: Apache-2.0
//
// What ranks publish as they join a communicator (bootstrap.hpp), and how it is written down.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace batchai::coll {

// In this order. A result begins with kJoined where a rank has joined.
inline constexpr char kIntroduction[] = "introduction", kOffer[] = "offer", kResult[] = "result";
inline constexpr std::string_view kJoined = "joined";

// What a rank tells all others first.
struct Introduction {
    std::string node, host;
    int pid = 0;

    std::string text() const { return fmt::format("{}\n{}\n{}", node, host, pid); }
    static Introduction from(const std::string& text) {
        Introduction it;
        std::istringstream lines(text);
        std::getline(lines, it.node);
        std::getline(lines, it.host);
        lines >> it.pid;
        // Ranks of different hosts are on different nodes, whatever their names.
        it.node += '\n' + it.host;
        return it;
    }
};

// What a rank has for others: the first of a node its memory's path and its watchdog's invitation,
// a rank on a rail its address and the ports that UCX listens on. Nothing where it has failed.
struct Offer {
    std::string memory;
    std::string invitation;
    std::vector<std::uint16_t> ports;
    std::string address;  // may have any bytes

    std::string text() const {
        return fmt::format("{}\n{}\n{}\n{}", memory, invitation, fmt::join(ports, " "), address);
    }
    static Offer from(const std::string& text) {
        Offer offer;
        std::istringstream lines(text);
        std::string ports;
        std::getline(lines, offer.memory);
        std::getline(lines, offer.invitation);
        std::getline(lines, ports);
        std::istringstream numbers(ports);
        for (std::uint16_t port = 0; numbers >> port;) offer.ports.push_back(port);
        offer.address.assign(std::istreambuf_iterator<char>(lines), {});
        return offer;
    }
};

}  // namespace batchai::coll
