// SPDX-License-Identifier: Apache-2.0
//
// Connections of other users to the ports that serve ranks.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>

#include "launcher/pmix/guarded_accept.hpp"
#include "sys/unique_fd.hpp"

using namespace batchai::launcher;
using batchai::sys::UniqueFd;

namespace {

sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

UniqueFd call_port(int port) {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(port);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        socket.reset();
    }
    return socket;
}

// Another user's process that has connected to the port and waits.
struct Stranger {
    explicit Stranger(int port) {
        std::array<int, 2> ready{};
        BOOST_REQUIRE(::pipe(ready.data()) == 0);
        pid = ::fork();
        if (pid == 0) {
            if (::setresuid(65533, 65533, 65533) != 0) ::_exit(1);
            const UniqueFd socket = call_port(port);
            (void)!::write(ready[1], "x", 1);
            ::pause();
        }
        char byte = 0;
        BOOST_REQUIRE(::read(ready[0], &byte, 1) == 1);
        ::close(ready[0]);
        ::close(ready[1]);
    }
    ~Stranger() {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
    pid_t pid;
};

const auto kIsRoot = boost::unit_test::precondition([](auto) { return ::geteuid() == 0; });

// As libpmix listens.
struct GuardedListener {
    GuardedListener() {
        sockaddr_in address = loopback(0);
        socklen_t size = sizeof address;
        BOOST_REQUIRE(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
        BOOST_REQUIRE(::listen(fd.get(), 8) == 0);
        BOOST_REQUIRE(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
        port = ntohs(address.sin_port);
    }
    UniqueFd accept() const {
        sockaddr_storage address{};
        socklen_t size = sizeof address;
        return UniqueFd(::accept(fd.get(), reinterpret_cast<sockaddr*>(&address), &size));
    }
    UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    int port = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(strangers)

BOOST_AUTO_TEST_CASE(this_program_guards_the_accept_of_its_libraries) {
    BOOST_TEST(pmix::accept_is_guarded());
}

BOOST_AUTO_TEST_CASE(a_connection_of_our_own_user_is_accepted) {
    const GuardedListener listener;
    BOOST_TEST(!listener.accept());
    BOOST_TEST(errno == EAGAIN);
    const UniqueFd client = call_port(listener.port);
    BOOST_TEST(bool(listener.accept()));
}

BOOST_AUTO_TEST_CASE(a_connection_of_another_user_is_not_and_the_next_is, *kIsRoot) {
    const GuardedListener listener;
    const Stranger stranger(listener.port);
    const UniqueFd client = call_port(listener.port);
    BOOST_TEST(!listener.accept());
    BOOST_TEST(errno == EAGAIN);
    BOOST_TEST(bool(listener.accept()));
}

BOOST_AUTO_TEST_CASE(a_unix_socket_is_accepted_as_ever) {
    const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const UniqueFd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socklen_t size = sizeof address.sun_family;  // the kernel chooses an abstract name
    BOOST_REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    BOOST_REQUIRE(::listen(listener.get(), 1) == 0);
    size = sizeof address;
    BOOST_REQUIRE(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    BOOST_REQUIRE(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    BOOST_TEST(bool(UniqueFd(::accept(listener.get(), nullptr, nullptr))));
}

BOOST_AUTO_TEST_SUITE_END()
