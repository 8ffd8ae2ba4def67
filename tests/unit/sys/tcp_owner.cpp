// SPDX-License-Identifier: Apache-2.0
#include "sys/tcp_owner.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "sys/unique_fd.hpp"

using namespace batchai::sys;

namespace {

constexpr uid_t kStranger = 65533;  // without a name

struct Listener {
    Listener() {
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        BOOST_REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
        BOOST_REQUIRE(::listen(listener.get(), 8) == 0);
        BOOST_REQUIRE(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) ==
                      0);
    }
    UniqueFd call() const {
        UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        BOOST_REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                                sizeof address) == 0);
        return socket;
    }
    UniqueFd accept() const { return UniqueFd(::accept(listener.get(), nullptr, nullptr)); }

    UniqueFd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
};

}  // namespace

BOOST_AUTO_TEST_CASE(both_ends_of_a_connection_of_our_own_are_ours) {
    const Listener server;
    const UniqueFd client = server.call(), accepted = server.accept();
    for (const int socket : {client.get(), accepted.get()}) {
        for (const End end : {End::own, End::other}) {
            const auto owner = tcp_owner(socket, end);
            BOOST_REQUIRE(owner.has_value());
            BOOST_TEST(*owner == ::geteuid());
        }
        BOOST_TEST(is_own_peer(socket));
    }
}

BOOST_AUTO_TEST_CASE(the_inode_of_an_end_is_that_of_its_socket) {
    const Listener server;
    UniqueFd client = server.call();
    const UniqueFd accepted = server.accept();
    struct stat own {
    }, other{};
    BOOST_REQUIRE(::fstat(accepted.get(), &own) == 0 && ::fstat(client.get(), &other) == 0);
    BOOST_TEST(tcp_inode(accepted.get(), End::own).value() == own.st_ino);
    BOOST_TEST(tcp_inode(accepted.get(), End::other).value() == other.st_ino);
    client.reset();
    BOOST_TEST(!tcp_inode(accepted.get(), End::other));
}

BOOST_AUTO_TEST_CASE(another_users_end_is_not_ours,
                     *boost::unit_test::precondition([](auto) { return ::geteuid() == 0; })) {
    const Listener server;
    const pid_t stranger = ::fork();
    if (stranger == 0) {
        if (::setresuid(kStranger, kStranger, kStranger) != 0) ::_exit(1);
        const UniqueFd client = server.call();
        ::pause();
    }
    const UniqueFd accepted = server.accept();
    BOOST_TEST(tcp_owner(accepted.get(), End::own).value() == ::geteuid());
    BOOST_TEST(tcp_owner(accepted.get(), End::other).value() == kStranger);
    BOOST_TEST(!is_own_peer(accepted.get()));
    ::kill(stranger, SIGKILL);
    ::waitpid(stranger, nullptr, 0);
    BOOST_TEST(!is_own_peer(accepted.get()));
}

BOOST_AUTO_TEST_CASE(a_closed_end_has_no_owner) {
    const Listener server;
    const auto close = [](UniqueFd socket, bool reset) {
        const linger at_once{1, 0};
        if (reset) ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        BOOST_TEST(::send(socket.get(), "x", 1, 0) == 1);  // unread, so that it is not forgotten
    };
    for (const bool reset : {false, true}) {
        UniqueFd client = server.call();
        const UniqueFd accepted = server.accept();
        close(std::move(client), reset);
        BOOST_TEST(!tcp_owner(accepted.get(), End::other));
        BOOST_TEST(!is_own_peer(accepted.get()));
    }
}

BOOST_AUTO_TEST_CASE(a_descriptor_without_a_tcp_connection_has_no_owner) {
    const Listener server;
    BOOST_TEST(!is_own_peer(-1));
    BOOST_TEST(!is_own_peer(server.listener.get()));
    int pair[2];
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    const UniqueFd one(pair[0]), other(pair[1]);
    BOOST_TEST(!is_own_peer(one.get()));
    const UniqueFd unconnected(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    BOOST_TEST(!tcp_owner(unconnected.get(), End::own));
}
