// SPDX-License-Identifier: Apache-2.0
#include "launcher/bootstrap.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <sstream>
#include <thread>

#include "launcher/network.hpp"

namespace batchai::launcher {

std::string random_key() {
    std::array<unsigned char, 32> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        std::abort();  // cannot happen for 32 bytes; a guessable key must not either
    }
    std::string text;
    for (unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
    return text;
}

bool same_key(const std::string& a, const std::string& b) {
    if (a.size() != b.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
    return difference == 0;
}

std::string encode(const Bootstrap& bootstrap) {
    return fmt::format("batchai-launch-agent {} {} {} {} {} {} {} {} {}\n", bootstrap.agent_key,
                       bootstrap.root_key, bootstrap.port, fmt::join(bootstrap.addresses, ","),
                       bootstrap.node, bootstrap.name.empty() ? "-" : bootstrap.name,
                       bootstrap.owned_directory.empty() ? "-" : bootstrap.owned_directory,
                       bootstrap.tree.nodes, bootstrap.tree.radix);
}

std::optional<Bootstrap> decode_bootstrap(const std::string& line) {
    std::istringstream in(line);
    std::string magic, addresses, name, directory;
    Bootstrap bootstrap;
    in >> magic >> bootstrap.agent_key >> bootstrap.root_key >> bootstrap.port >> addresses >>
        bootstrap.node >> name >> directory >> bootstrap.tree.nodes >> bootstrap.tree.radix;
    if (!in || bootstrap.tree.radix < 1 || magic != "batchai-launch-agent") return std::nullopt;
    std::istringstream list(addresses);
    for (std::string address; std::getline(list, address, ',');) {
        bootstrap.addresses.push_back(address);
    }
    if (name != "-") bootstrap.name = name;
    if (directory != "-") bootstrap.owned_directory = directory;
    return bootstrap;
}

sys::Result<Listener> listen_anywhere(bool loopback_only) {
    Listener listener{
        sys::UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), 0};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(loopback_only ? INADDR_LOOPBACK : INADDR_ANY);
    socklen_t size = sizeof address;
    if (!listener.fd ||
        ::bind(listener.fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener.fd.get(), SOMAXCONN) != 0 ||
        ::getsockname(listener.fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        return sys::errno_error("opening a port for the agents");
    }
    listener.port = ntohs(address.sin_port);
    return listener;
}

namespace {

bool is_loopback(const in_addr& address) {
    return (ntohl(address.s_addr) >> 24) == 127;
}

// What this machine's name stands for: the network that the site calls its own.
std::string named_address() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return {};
    addrinfo hints{};
    hints.ai_family = AF_INET;
    addrinfo* list = nullptr;
    if (::getaddrinfo(name.data(), nullptr, &hints, &list) != 0 || list == nullptr) return {};
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(list, ::freeaddrinfo);
    const in_addr address = reinterpret_cast<const sockaddr_in*>(list->ai_addr)->sin_addr;
    return is_loopback(address) ? std::string() : text_of(address);
}

}  // namespace

std::vector<std::string> own_addresses() {
    std::vector<std::string> addresses;
    if (std::string named = named_address(); !named.empty()) addresses.push_back(named);
    for (const Interface& one : interfaces()) {
        in_addr address{};
        ::inet_pton(AF_INET, one.address.c_str(), &address);
        if (is_loopback(address)) continue;
        if (std::find(addresses.begin(), addresses.end(), one.address) == addresses.end()) {
            addresses.push_back(one.address);
        }
    }
    return addresses;
}

namespace {

sys::Result<sys::UniqueFd> connect_once(const std::string& text, int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    if (::inet_pton(AF_INET, text.c_str(), &address.sin_addr) != 1) {
        return sys::Error{text + ": not an address"};
    }
    sys::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return sys::errno_error("socket");
    if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
    if (errno != EINPROGRESS) return sys::errno_error(text);
    pollfd wait{fd.get(), POLLOUT, 0};
    if (::poll(&wait, 1, 2000) <= 0) return sys::Error{text + ": no answer"};
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return sys::errno_error(text, error);
    return fd;
}

}  // namespace

sys::Result<sys::UniqueFd> connect_to(const std::vector<std::string>& addresses, int port) {
    sys::Error last{"no addresses"};
    for (int round = 0; round < 3; ++round) {
        for (const std::string& address : addresses) {
            auto fd = connect_once(address, port);
            if (fd) return fd;
            last = fd.error();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(100 << round));
    }
    return last.in(fmt::format("connecting to batchai-launch on port {}", port));
}

}  // namespace batchai::launcher
