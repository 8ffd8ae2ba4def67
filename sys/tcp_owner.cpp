// SPDX-License-Identifier: Apache-2.0
#include "sys/tcp_owner.hpp"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

#include "sys/unique_fd.hpp"

namespace batchai::sys {
namespace {

struct Connection {
    sockaddr_in own{}, other{};
};

Result<Connection> connection_of(int socket) {
    Connection found;
    socklen_t own_size = sizeof found.own, other_size = sizeof found.other;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&found.own), &own_size) != 0 ||
        ::getpeername(socket, reinterpret_cast<sockaddr*>(&found.other), &other_size) != 0) {
        return errno_error("the connection");
    }
    if (found.own.sin_family != AF_INET) return errno_error("the connection", EAFNOSUPPORT);
    return found;
}

Result<inet_diag_msg> ask_kernel(const sockaddr_in& from, const sockaddr_in& to) {
    struct {
        nlmsghdr header;
        inet_diag_req_v2 question;
    } request{};
    request.header.nlmsg_len = sizeof request;
    request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request.header.nlmsg_flags = NLM_F_REQUEST;
    request.question.sdiag_family = AF_INET;
    request.question.sdiag_protocol = IPPROTO_TCP;
    request.question.idiag_states = ~0U;
    inet_diag_sockid& id = request.question.id;
    id.idiag_sport = from.sin_port;
    id.idiag_src[0] = from.sin_addr.s_addr;
    id.idiag_dport = to.sin_port;
    id.idiag_dst[0] = to.sin_addr.s_addr;
    id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;

    const UniqueFd netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    struct {
        nlmsghdr header;
        union {
            inet_diag_msg answer;
            nlmsgerr error;
            std::array<char, 1024> attributes;  // unread
        };
    } reply{};
    ssize_t size = -1;
    if (netlink && ::send(netlink.get(), &request, sizeof request, 0) == sizeof request) {
        // The kernel answers before send() returns.
        size = ::recv(netlink.get(), &reply, sizeof reply, MSG_DONTWAIT);
    }
    if (size < 0) return errno_error("sock_diag");
    if (reply.header.nlmsg_type == NLMSG_ERROR) {
        return errno_error("sock_diag", -reply.error.error);
    }
    if (static_cast<std::size_t>(size) < NLMSG_LENGTH(sizeof reply.answer)) {
        return errno_error("sock_diag", EPROTO);
    }
    return reply.answer;
}

Result<inet_diag_msg> look_up(int socket, End end) {
    const auto connection = connection_of(socket);
    if (!connection) return connection.error();
    const auto& [own, other] = *connection;
    auto found = end == End::own ? ask_kernel(own, other) : ask_kernel(other, own);
    if (!found) return found.error();
    // A process has closed that end; the kernel only keeps it until our end is closed too.
    if (found->idiag_inode == 0) return Error{"the connection: closed at that end"};
    // After a reset, the kernel may give the port to another process, and answer about that one.
    if (const auto still = connection_of(socket); !still) return still.error();
    return found;
}

}  // namespace

Result<uid_t> tcp_owner(int socket, End end) {
    const auto found = look_up(socket, end);
    if (!found) return found.error();
    return found->idiag_uid;
}

Result<std::uint64_t> tcp_inode(int socket, End end) {
    const auto found = look_up(socket, end);
    if (!found) return found.error();
    return std::uint64_t{found->idiag_inode};
}

bool is_own_peer(int socket) {
    const auto owner = tcp_owner(socket, End::other);
    return owner && *owner == ::geteuid();
}

}  // namespace batchai::sys
