// SPDX-License-Identifier: Apache-2.0
//
// The watchdog's parts: what the user says, who has stood still, what goes between nodes and what
// strangers send, and the thread itself beside processes that end or stop.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <thread>

#include "collectives/transport/fault.hpp"
#include "collectives/watch/watchdog.hpp"
#include "sys/codec.hpp"
#include "tests/unit/printing.hpp"

using namespace batchai;
using namespace batchai::coll;
using namespace std::chrono_literals;
using Time = Heartbeats::Time;

namespace {

std::pair<sys::UniqueFd, sys::UniqueFd> socket_pair() {
    int fds[2];
    BOOST_REQUIRE_EQUAL(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    return {sys::UniqueFd(fds[0]), sys::UniqueFd(fds[1])};
}

template <class Done>
void wait_until(Done done) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (!done() && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(1ms);
    }
}

// Nodes of one rank each, seen from one of them.
Roster roster_of(int nodes, int rank) {
    std::vector<std::string> names;
    for (int n = 0; n < nodes; ++n) names.push_back("c" + std::to_string(n));
    return {Topology::from_names(rank, names), std::vector<int>(nodes, 77), names};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(watch)

BOOST_AUTO_TEST_CASE(limits_are_what_the_user_says) {
    BOOST_TEST((*parse_limits("") == Limits()));
    BOOST_TEST((*parse_limits("stall=2.5") == Limits{2000ms, 5000ms, 2500ms}));
    BOOST_TEST((*parse_limits("process=0,node=0,stall=0") == Limits{0ms, 0ms, 0ms}));
    BOOST_TEST(parse_limits("process=0,node=0,stall=0")->none());
    BOOST_TEST((*parse_limits("node=1,stall=60") == Limits{2000ms, 1000ms, 60000ms}));
    for (const char* bad : {"stall", "stall=", "stall=x", "stall=-1", "stall=1s", "stall=0.01",
                            "stall=1e9", "stall=nan", "step=1", "=1", "node=1,,stall=2"}) {
        const auto limits = parse_limits(bad);
        BOOST_TEST(!limits, bad);
    }
}

BOOST_AUTO_TEST_CASE(faults_are_what_the_user_says) {
    BOOST_TEST((*parse_fault("") == Fault()));
    BOOST_TEST((*parse_fault("rank=1,operation=5,chunk=2,do=kill") ==
                Fault{1, 5, 2, Fault::Deed::kill, 0ms}));
    BOOST_TEST(
        (*parse_fault("do=delay:500ms,rank=0") == Fault{0, 1, 0, Fault::Deed::delay, 500ms}));
    BOOST_TEST(parse_fault("rank=0,do=stop")->deed == Fault::Deed::stop);
    BOOST_TEST(parse_fault("rank=0,do=exit")->deed == Fault::Deed::exit);
    BOOST_TEST(parse_fault("rank=0,do=abort")->deed == Fault::Deed::abort);
    for (const char* bad :
         {"rank=1", "do=kill", "rank=-1,do=kill", "rank=1,operation=0,do=kill", "rank=1,do=dance",
          "rank=1,do=delay:5", "rank=1,do=delay:ms", "rank=x,do=kill", "rank=1,chunk,do=kill"}) {
        BOOST_TEST(!parse_fault(bad), bad);
    }
    BOOST_TEST(parse_fault("rank=1,do=dance").error().message ==
               "'do=dance' is not rank=NUMBER, operation=NUMBER (from 1), chunk=NUMBER or "
               "do=kill|stop|exit|abort|delay:NUMBERms");
}

BOOST_AUTO_TEST_CASE(ranks_and_nodes_have_names) {
    BOOST_TEST(describe_ranks({3}) == "rank 3");
    BOOST_TEST(describe_ranks({0, 1, 2, 3, 8}) == "ranks 0-3, 8");
    BOOST_TEST(describe_ranks({0, 2, 4, 6, 8, 10, 12, 14}) == "ranks 0, 2, 4, 6, 8, 10, ...");
    const Roster roster{Topology::from_names(0, {"a", "a", "b", "b"}), {1, 2, 3, 4}, {"a", "b"}};
    BOOST_TEST(roster.rank(2) == "rank 2 (process 3 on node b)");
    BOOST_TEST(roster.node(1) == "node b (ranks 2-3)");
}

BOOST_AUTO_TEST_CASE(a_silent_process_is_found_and_a_stopped_watchdog_blames_no_process) {
    const Time start;
    Heartbeats heartbeats(2, 30s, start);
    heartbeats.see(0, 1, start + 20s);
    BOOST_TEST(!heartbeats.silent(1, start + 29s));
    BOOST_TEST(heartbeats.silent(1, start + 30s));
    BOOST_TEST(!heartbeats.silent(0, start + 49s));
    heartbeats.see(0, 1, start + 49s);  // the same number
    BOOST_TEST(heartbeats.silent(0, start + 50s));
    heartbeats.forgive(start + 50s);
    BOOST_TEST(!heartbeats.silent(0, start + 79s));
    BOOST_TEST(heartbeats.silent(0, start + 80s));
    BOOST_TEST(!Heartbeats(1, 0s, start).silent(0, start + 1000h));
}

BOOST_AUTO_TEST_CASE(a_process_has_a_state) {
    BOOST_TEST(process_state(::getpid()) == "R");
    BOOST_TEST(process_state(-1) == "");
}

BOOST_AUTO_TEST_CASE(beats_and_failures_come_over_a_pulse) {
    auto [left, right] = socket_pair();
    Pulse one(std::move(left)), other(std::move(right));
    BOOST_TEST(!other.step());
    one.beat();
    one.beat();
    one.tell({BATCHAI_COLL_ERR_TIMEOUT, "too late"});
    one.tell({BATCHAI_COLL_ERR_PEER, std::string(2000, 'x')});
    auto failure = other.step();
    BOOST_REQUIRE(failure.has_value());
    BOOST_TEST(failure->status == BATCHAI_COLL_ERR_TIMEOUT);
    BOOST_TEST(failure->sentence == "too late");
    BOOST_TEST(other.heard() == 3U);
    failure = other.step();
    BOOST_REQUIRE(failure.has_value());
    BOOST_TEST(failure->sentence == std::string(Pulse::kMostText, 'x'));
    BOOST_TEST(other.state() == Pulse::State::open);
}

BOOST_AUTO_TEST_CASE(a_report_before_the_end_of_a_pulse_arrives) {
    auto [left, right] = socket_pair();
    Pulse other(std::move(right));
    {
        Pulse one(std::move(left));
        one.tell({BATCHAI_COLL_ERR_ABORTED, "over"});
    }
    BOOST_TEST(other.step()->sentence == "over");
    BOOST_TEST(!other.step());
    BOOST_TEST(other.state() == Pulse::State::ended);
}

BOOST_AUTO_TEST_CASE(nonsense_ends_a_pulse) {
    using namespace std::string_literals;
    for (const std::string& bad :
         {"\x03\x00\x00\x00"s, "\x01\x00\x01\x00"s, "\x02\x04\x00\x02"s, "\x02\x00\x00\x00"s,
          "\x02\x01\x00\x00"s, "\x02\x80\xff\x01"s, "\x02\x07\x00\x00"s, "GET / HTTP/1.0\r\n"s}) {
        auto [left, right] = socket_pair();
        Pulse pulse(std::move(right));
        BOOST_REQUIRE_EQUAL(::send(left.get(), bad.data(), bad.size(), 0),
                            static_cast<ssize_t>(bad.size()));
        BOOST_TEST(!pulse.step());
        BOOST_TEST(pulse.state() == Pulse::State::ended);
        BOOST_TEST(pulse.heard() == 0U);
    }
}

BOOST_AUTO_TEST_CASE(an_invitation_is_read_as_it_was_written) {
    Invitation invitation;
    invitation.port = 40123;
    invitation.secret = {0, 255, 1, 16};
    invitation.addresses = {"10.87.0.11", "10.1.0.3"};
    const std::string sent = batchai::sys::encode(invitation);
    const auto read = batchai::sys::decode_whole<Invitation>(sent);
    BOOST_REQUIRE(read);
    BOOST_TEST(read->port == invitation.port);
    BOOST_TEST((read->secret == invitation.secret));
    BOOST_TEST(read->addresses == invitation.addresses, boost::test_tools::per_element());
    for (std::size_t bytes = 0; bytes < sent.size(); ++bytes) {
        BOOST_TEST(!batchai::sys::decode_whole<Invitation>(sent.substr(0, bytes)), bytes);
    }
    BOOST_TEST(read->is_valid());
    BOOST_TEST(Invitation{}.is_valid());  // of a node that no other node calls
    for (const std::vector<std::string>& bad :
         {std::vector<std::string>{}, {""}, {"ten"}, {"10.0.0.1", "10.0.0"}}) {
        invitation.addresses = bad;
        BOOST_TEST(!invitation.is_valid());
    }
}

BOOST_AUTO_TEST_CASE(every_node_calls_the_next_one_and_two_call_once) {
    BOOST_TEST(callee_of(0, 1) == -1);
    BOOST_TEST(caller_of(0, 1) == -1);
    BOOST_TEST(callee_of(0, 2) == 1);
    BOOST_TEST(callee_of(1, 2) == -1);
    BOOST_TEST(caller_of(1, 2) == 0);
    BOOST_TEST(caller_of(0, 2) == -1);
    BOOST_TEST(callee_of(2, 3) == 0);
    BOOST_TEST(caller_of(0, 3) == 2);
}

namespace {

// All nodes meet; strangers call all of them first.
std::vector<std::vector<Neighbour>> meet(int nodes, int strangers) {
    std::vector<Rendezvous> all;
    std::vector<Invitation> invitations;
    std::vector<sys::UniqueFd> calls;
    for (int n = 0; n < nodes; ++n) {
        auto rendezvous = Rendezvous::open({"127.0.0.1"});
        BOOST_REQUIRE(rendezvous);
        invitations.push_back(rendezvous->invitation());
        for (int i = 0; i < strangers; ++i) {
            sockaddr_in at{};
            at.sin_family = AF_INET;
            at.sin_port = htons(rendezvous->invitation().port);
            at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            sys::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
            BOOST_REQUIRE_EQUAL(::connect(fd.get(), reinterpret_cast<sockaddr*>(&at), sizeof at),
                                0);
            const std::string wrong(i, '\0');
            ::send(fd.get(), wrong.data(), wrong.size(), MSG_NOSIGNAL);
            calls.push_back(std::move(fd));
        }
        all.push_back(std::move(*rendezvous));
    }
    std::vector<std::vector<Neighbour>> met(nodes);
    std::vector<std::thread> threads;
    threads.reserve(nodes);
    for (int n = 0; n < nodes; ++n) {
        threads.emplace_back([&, n] {
            auto result = all[n].meet(roster_of(nodes, n), invitations, 20s);
            if (result) met[n] = std::move(*result);
        });
    }
    for (std::thread& thread : threads) thread.join();
    return met;
}

}  // namespace

BOOST_AUTO_TEST_CASE(neighbours_meet_although_strangers_call) {
    for (const int nodes : {2, 3, 4}) {
        const auto met = meet(nodes, 5);
        for (int n = 0; n < nodes; ++n) {
            BOOST_TEST(met[n].size() == (nodes == 2 ? 1U : 2U));
            for (const Neighbour& neighbour : met[n]) {
                BOOST_TEST((neighbour.node == callee_of(n, nodes) ||
                            neighbour.node == caller_of(n, nodes)));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_rendezvous_with_a_silent_neighbour_fails) {
    auto here = Rendezvous::open({"127.0.0.1"});
    BOOST_REQUIRE(here);
    Invitation gone = here->invitation();
    {
        const auto there = Rendezvous::open({"127.0.0.1"});
        gone.port = there->invitation().port;
    }
    const auto refused = here->meet(roster_of(2, 0), {{}, gone}, 20s);
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.error().message.find("node c1 (rank 1)") != std::string::npos);
    BOOST_TEST(refused.error().message.find("Connection refused") != std::string::npos);
    Invitation other = here->invitation();  // no process listens at its first address
    other.addresses = {"127.0.0.2", "127.0.0.1"};
    const auto caller = Rendezvous::open({"127.0.0.1"});
    BOOST_REQUIRE(caller);
    bool met = false;
    std::thread called([&] {
        met = bool(here->meet(roster_of(2, 1), {caller->invitation(), {}}, 20s));
    });
    BOOST_TEST(bool(caller->meet(roster_of(2, 0), {{}, other}, 20s)));
    called.join();
    BOOST_TEST(met);
    const auto silent = here->meet(roster_of(2, 1), {gone, {}}, 100ms);
    BOOST_REQUIRE(!silent);
    BOOST_TEST(silent.error().message.find("Connection timed out") != std::string::npos);
    const auto alone = here->meet(roster_of(2, 0), {{}, {}}, 20s);
    BOOST_REQUIRE(alone);
    BOOST_TEST(alone->empty());
}

namespace {

// The first ranks of nodes in a ring of sockets.
struct RingOfNodes {
    std::vector<Roster> rosters;
    std::vector<std::unique_ptr<Neighbourhood>> nodes;
    Time now;

    RingOfNodes(int count, const Limits& limits) {
        std::vector<std::vector<Neighbour>> neighbours(count);
        for (int n = 0; n < count; ++n) {
            rosters.push_back(roster_of(count, n));
            const int next = callee_of(n, count);
            if (next < 0) continue;
            auto [left, right] = socket_pair();
            neighbours[n].push_back({next, std::move(left)});
            neighbours[next].push_back({n, std::move(right)});
        }
        for (int n = 0; n < count; ++n) {
            nodes.push_back(
                std::make_unique<Neighbourhood>(rosters[n], limits, std::move(neighbours[n]), now));
        }
    }

    // Lets time pass; who learns of a failure tells the neighbours, as a watchdog does. Nodes that
    // are null are gone, those that are stopped do nothing. What each has learned.
    std::vector<std::string> pass(std::chrono::milliseconds time, int stopped = -1) {
        std::vector<std::string> learned(nodes.size());
        for (const Time end = now + time; now <= end; now += 100ms) {
            for (std::size_t n = 0; n < nodes.size(); ++n) {
                if (nodes[n] == nullptr || static_cast<int>(n) == stopped) continue;
                const auto failure = nodes[n]->step(now);
                if (!failure || !learned[n].empty()) continue;
                learned[n] = failure->sentence;
                nodes[n]->tell(*failure);
            }
        }
        return learned;
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_failure_goes_around_the_ring) {
    for (const int count : {2, 3, 8}) {
        RingOfNodes ring(count, {});
        for (const std::string& learned : ring.pass(60s)) BOOST_TEST(learned == "");
        ring.nodes[1]->tell({BATCHAI_COLL_ERR_PEER, "rank 1 is tired"});
        const auto learned = ring.pass(1s);
        for (int n = 0; n < count; ++n) {
            if (n != 1) BOOST_TEST(learned[n] == "rank 1 is tired");
        }
    }
}

BOOST_AUTO_TEST_CASE(all_others_learn_that_a_first_rank_is_gone) {
    for (const int count : {2, 3, 8}) {
        RingOfNodes ring(count, {});
        ring.nodes[1].reset();
        const auto learned = ring.pass(1s);
        for (int n = 0; n < count; ++n) {
            if (n != 1) BOOST_TEST(learned[n] == "rank 1 (process 77 on node c1) has ended");
        }
    }
}

BOOST_AUTO_TEST_CASE(a_dead_rank_is_not_reported_if_the_user_has_turned_it_off) {
    RingOfNodes ring(3, {0ms, 5s, 30s});
    ring.nodes[1].reset();
    for (const std::string& learned : ring.pass(60s)) BOOST_TEST(learned == "");
}

BOOST_AUTO_TEST_CASE(all_others_learn_that_a_first_rank_stands_still) {
    for (const int count : {2, 3, 8}) {
        RingOfNodes ring(count, {});
        for (const std::string& learned : ring.pass(28s, 1)) BOOST_TEST(learned == "");
        const auto learned = ring.pass(3s, 1);
        for (int n = 0; n < count; ++n) {
            if (n == 1) continue;
            BOOST_TEST(learned[n] == "rank 1 (process 77 on node c1) has not run for 30 s");
        }
    }
}

BOOST_AUTO_TEST_CASE(a_report_arrives_although_its_node_leaves) {
    RingOfNodes ring(2, {});
    ring.nodes[0]->tell({BATCHAI_COLL_ERR_PEER, "enough"});
    std::thread leaves([&] { ring.nodes[0]->close(); });
    std::optional<Failure> failure;
    wait_until([&] {
        failure = ring.nodes[1]->step(ring.now);
        return failure.has_value();
    });
    leaves.join();
    BOOST_REQUIRE(failure.has_value());
    BOOST_TEST(failure->sentence == "enough");
}

namespace {

// A node of this process and another one that does nothing.
struct Pair {
    pid_t child = ::fork();
    Roster roster{Topology::from_names(0, {"c0", "c0"}), {::getpid(), child}, {"c0"}};
    std::unique_ptr<Node> node;
    std::unique_ptr<Watchdog> watchdog;

    explicit Pair(const Limits& limits) {
        if (child == 0) {
            while (true) ::pause();
        }
        auto memory = Segment::create(Node::bytes_needed(2, 4096));
        BOOST_REQUIRE(memory);
        node = std::make_unique<Node>(std::move(*memory), 0, 2, 4096);
        auto started = Watchdog::start(roster, *node, limits, {}, Sockets({}, {}, 5s));
        BOOST_REQUIRE(started);
        watchdog = std::move(*started);
    }
    ~Pair() {
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    }
    std::string failure() const {
        wait_until([this] { return node->failed(); });
        const auto failure = node->failure();
        return failure ? failure->sentence : "";
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_watchdog_sees_a_process_end) {
    Pair pair({});
    ::kill(pair.child, SIGKILL);
    BOOST_TEST(pair.failure() == pair.roster.rank(1) + " has ended");
}

BOOST_AUTO_TEST_CASE(the_watchdog_sees_a_process_stand_still) {
    Pair pair({2s, 5s, 200ms});
    BOOST_TEST(pair.failure() == pair.roster.rank(1) + " has not run for 0.2 s");
    Pair stopped({2s, 5s, 1s});
    ::kill(stopped.child, SIGSTOP);
    BOOST_TEST(stopped.failure() == stopped.roster.rank(1) + " has been stopped for 1 s");
}

BOOST_AUTO_TEST_CASE(the_watchdog_beats_until_it_is_ended) {
    Pair pair({0ms, 0ms, 800ms});
    const auto beats = [&] { return pair.node->beats(0).value.load(); };
    wait_until([&] { return beats() >= 3; });
    pair.watchdog.reset();
    const auto last = beats();
    BOOST_TEST(last >= 3U);
    std::this_thread::sleep_for(300ms);
    BOOST_TEST(beats() == last);
}

BOOST_AUTO_TEST_CASE(children_of_fork_do_not_keep_a_connection) {
    auto [left, right] = socket_pair();
    auto pulse = std::make_unique<Pulse>(std::move(left));
    const pid_t child = ::fork();
    if (child == 0) {
        while (true) ::pause();
    }
    pulse.reset();
    Pulse other(std::move(right));
    wait_until([&] {
        BOOST_TEST(!other.step());
        return other.state() != Pulse::State::open;
    });
    BOOST_TEST(other.state() == Pulse::State::ended);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
}

BOOST_AUTO_TEST_SUITE_END()
