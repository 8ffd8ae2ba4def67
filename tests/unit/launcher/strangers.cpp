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
#include <optional>
#include <vector>

#include "launcher/gloo/rendezvous.hpp"
#include "launcher/pmi1/server.hpp"
#include "launcher/pmix/workarounds.hpp"

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

// Another process, of this user, that has made connections to the port and waits.
struct Caller {
    Caller(int port, std::size_t count, uid_t user) {
        std::array<int, 2> ready{};
        BOOST_REQUIRE(::pipe(ready.data()) == 0);
        pid = ::fork();
        if (pid == 0) {
            if (::setresuid(user, user, user) != 0) ::_exit(1);
            std::vector<UniqueFd> sockets;
            while (sockets.size() < count) sockets.push_back(call_port(port));
            (void)!::write(ready[1], "x", 1);
            ::pause();
        }
        char byte = 0;
        BOOST_REQUIRE(::read(ready[0], &byte, 1) == 1);
        ::close(ready[0]);
        ::close(ready[1]);
    }
    ~Caller() {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
    pid_t pid;
};
struct Stranger : Caller {
    explicit Stranger(int port) : Caller(port, 1, 65533) {}
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

// Runs the loop until the server has closed the connection; all that it has sent.
std::string answer_to(Loop& loop, const UniqueFd& client, const std::string& request) {
    BOOST_REQUIRE(::send(client.get(), request.data(), request.size(), MSG_NOSIGNAL) ==
                  static_cast<ssize_t>(request.size()));
    ::shutdown(client.get(), SHUT_WR);  // after a refusal the server waits for the client to close
    std::string text;
    std::array<char, 4096> bytes{};
    for (;;) {
        uv_run(loop.get(), UV_RUN_NOWAIT);
        const ssize_t size = ::recv(client.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (size > 0) text.append(bytes.data(), static_cast<std::size_t>(size));
        if (size == 0 || (size < 0 && errno != EAGAIN)) return text;
    }
}

struct Served {
    Served() {
        auto server =
            gloo::Rendezvous::listen(loop, [this](std::uint64_t id, const gloo::Request& request) {
                asked.emplace_back(id, request.method + " " + request.scope + "/" + request.key);
                later.start({});
            });
        BOOST_REQUIRE(server.has_value());
        rendezvous = std::move(*server);
    }
    Loop loop;
    std::unique_ptr<gloo::Rendezvous> rendezvous;
    std::vector<std::pair<std::uint64_t, std::string>> asked;
    Timer later{loop, [this] {
                    for (const auto& [id, what] : asked) rendezvous->answer(id, "to " + what);
                }};
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

// As libpmix reads the first message of a connection, and then calls its host.
void greet(const UniqueFd& client, const UniqueFd& accepted, std::uint32_t rank) {
    char byte = 0;
    BOOST_REQUIRE(::send(client.get(), "x", 1, 0) == 1);
    BOOST_REQUIRE(::recv(accepted.get(), &byte, 1, MSG_WAITALL) == 1);
    pmix::name_connection(rank);
}

BOOST_AUTO_TEST_CASE(a_ranks_open_connections_are_known_and_no_other_ones) {
    const GuardedListener listener;
    UniqueFd first = call_port(listener.port);
    UniqueFd first_accepted = listener.accept();
    const UniqueFd other = call_port(listener.port), other_accepted = listener.accept();
    const UniqueFd second = call_port(listener.port), second_accepted = listener.accept();
    const UniqueFd unnamed = call_port(listener.port), unnamed_accepted = listener.accept();
    greet(first, first_accepted, 4711);
    greet(other, other_accepted, 4712);
    greet(second, second_accepted, 4711);
    BOOST_TEST(pmix::connections_of(4711).size() == 2U);
    const auto openers = openers_of(pmix::connections_of(4711));
    BOOST_TEST(openers == std::vector<pid_t>(2, ::getpid()), boost::test_tools::per_element());
    first.reset();  // the library has not noticed it
    BOOST_TEST(pmix::connections_of(4711).size() == 1U);
    first_accepted.reset();
    BOOST_TEST(pmix::connections_of(4711).size() == 1U);
    BOOST_TEST(pmix::connections_of(4713).empty());
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

BOOST_FIXTURE_TEST_CASE(a_rank_gets_the_answer_to_what_it_asks, Served) {
    const UniqueFd client = call_port(rendezvous->port());
    BOOST_TEST(answer_to(loop, client, "GET /a/b HTTP/1.1\r\n\r\n") == "to GET a/b");
}

BOOST_FIXTURE_TEST_CASE(a_bad_request_is_refused_without_being_passed_on, Served) {
    const UniqueFd client = call_port(rendezvous->port());
    BOOST_TEST(answer_to(loop, client, "no request\r\n\r\n").starts_with("HTTP/1.1 400 "));
    BOOST_TEST(asked.empty());
}

BOOST_FIXTURE_TEST_CASE(idle_connections_of_the_user_have_a_limit_and_do_not_stay, Served) {
    std::optional<Caller> many(std::in_place, rendezvous->port(),
                               gloo::Rendezvous::kMostConnections, ::geteuid());
    const std::string request = "GET /a/b HTTP/1.1\r\n\r\n";
    BOOST_TEST(answer_to(loop, call_port(rendezvous->port()), request) == "");
    many.reset();
    std::string answer;
    while (answer.empty()) answer = answer_to(loop, call_port(rendezvous->port()), request);
    BOOST_TEST(answer == "to GET a/b");
}

BOOST_FIXTURE_TEST_CASE(a_strangers_connection_is_closed_unheard_and_the_next_is_served, Served,
                        *kIsRoot) {
    const Stranger stranger(rendezvous->port());
    const UniqueFd client = call_port(rendezvous->port());
    BOOST_TEST(answer_to(loop, client, "PUT /a/b HTTP/1.1\r\n\r\n") == "to PUT a/b");
    BOOST_TEST(asked.size() == 1U);
}

namespace {

// PMI-1 for the only rank of a job.
struct Solo : pmi1::Host {
    Solo() : server(std::move(*pmi1::SoloServer::listen(loop, *this, "space"))) {
        port = std::stoi(server->address().substr(server->address().find(':') + 1));
    }
    // The first answer to the request; "closed" where the server has closed the connection.
    std::string ask(const UniqueFd& program, const std::string& request) {
        const std::string line = request + "\n";
        (void)::send(program.get(), line.data(), line.size(), MSG_NOSIGNAL);
        std::array<char, 4096> bytes{};
        for (;;) {
            uv_run(loop.get(), UV_RUN_NOWAIT);
            const ssize_t size = ::recv(program.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
            if (size > 0) return {bytes.data(), static_cast<std::size_t>(size)};
            if (size == 0 || errno != EAGAIN) return "closed";
        }
    }
    void join(const UniqueFd& program) {
        BOOST_TEST(
            ask(program, "cmd=initack pmiid=0").starts_with("cmd=initack rc=0\ncmd=set size=1\n"));
        BOOST_TEST(ask(program, "cmd=init pmi_version=1").starts_with("cmd=response_to_init rc=0"));
    }
    void joined(int) override {}
    void finalized(int) override {}
    void barrier(Fence) override {}
    void aborted(int, int, std::string) override {}
    void spawn_refused(int, std::string) override {}

    Loop loop;
    std::unique_ptr<pmi1::SoloServer> server;
    int port = 0;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(programs_of_one_rank_do_not_wait_for_each_other, Solo) {
    const UniqueFd one = call_port(port), two = call_port(port);
    join(one);
    join(two);
    BOOST_TEST(ask(one, "cmd=put kvsname=space key=k value=1").starts_with("cmd=put_result rc=0"));
    BOOST_TEST(ask(one, "cmd=barrier_in") == "cmd=barrier_out rc=0\n");
    BOOST_TEST(ask(two, "cmd=get kvsname=space key=k") ==
               "cmd=get_result rc=-1 msg=key_not_found\n");
    BOOST_TEST(ask(one, "cmd=barrier_in") == "cmd=barrier_out rc=0\n");
}

BOOST_FIXTURE_TEST_CASE(a_failure_of_one_program_does_not_end_another_one, Solo) {
    const UniqueFd one = call_port(port), two = call_port(port);
    join(one);
    join(two);
    BOOST_TEST(ask(one, "nonsense") == "closed");
    BOOST_TEST(ask(two, "cmd=abort exitcode=1\ncmd=get_appnum") == "cmd=appnum rc=0 appnum=0\n");
    join(call_port(port));
}

BOOST_FIXTURE_TEST_CASE(a_strangers_program_is_not_served_and_the_next_is, Solo, *kIsRoot) {
    const Stranger stranger(port);
    join(call_port(port));
}

BOOST_AUTO_TEST_SUITE_END()
