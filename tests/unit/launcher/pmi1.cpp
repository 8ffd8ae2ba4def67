// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "launcher/pmi1/protocol.hpp"
#include "launcher/pmi1/server.hpp"

using namespace batchai::launcher;
using pmi1::Reaction;
using Event = Reaction::Event;

BOOST_TEST_DONT_PRINT_LOG_VALUE(Event)

BOOST_AUTO_TEST_SUITE(pmi1_protocol)

namespace {

struct Ranks {
    pmi1::Job job{"space", 4, "(vector,(0,2,2))"};
    pmi1::Store store;
    pmi1::Session session{job, store};

    std::string ask(std::string_view line) { return session.on_line(line).answer; }
    Event event(std::string_view line) { return session.on_line(line).event; }
    void join() { (void)ask("cmd=init pmi_version=1 pmi_subversion=1"); }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_rank_joins_asks_its_questions_and_leaves, Ranks) {
    const Reaction joined = session.on_line("cmd=init pmi_version=1 pmi_subversion=1");
    BOOST_TEST(joined.event == Event::joined);
    BOOST_TEST(joined.answer == "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n");
    BOOST_TEST(ask("cmd=get_maxes") ==
               "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024\n");
    BOOST_TEST(ask("cmd=get_appnum") == "cmd=appnum rc=0 appnum=0\n");
    BOOST_TEST(ask("cmd=get_my_kvsname") == "cmd=my_kvsname rc=0 kvsname=space\n");
    BOOST_TEST(ask("cmd=get_universe_size") == "cmd=universe_size rc=0 size=4\n");
    BOOST_TEST(event("cmd=finalize") == Event::left);
}

BOOST_FIXTURE_TEST_CASE(another_version_is_refused, Ranks) {
    const Reaction refused = session.on_line("cmd=init pmi_version=2 pmi_subversion=0");
    BOOST_TEST(refused.event == Event::none);
    BOOST_TEST(refused.answer == "cmd=response_to_init rc=-1 pmi_version=1 pmi_subversion=1\n");
    BOOST_TEST(event("cmd=get_maxes") == Event::broken);
}

BOOST_FIXTURE_TEST_CASE(a_key_that_was_put_can_be_read, Ranks) {
    join();
    BOOST_TEST(ask("cmd=put kvsname=space key=k value=a b=c ") ==
               "cmd=put_result rc=0 msg=success\n");
    BOOST_TEST(ask("cmd=get kvsname=space key=k") ==
               "cmd=get_result rc=0 msg=success value=a b=c \n");
    BOOST_TEST(ask("key=k  kvsname=space cmd=get other=x") ==
               "cmd=get_result rc=0 msg=success value=a b=c \n");
    BOOST_TEST(ask("cmd=put kvsname=space key=k value=") == "cmd=put_result rc=0 msg=success\n");
    BOOST_TEST(ask("cmd=get kvsname=space key=k") == "cmd=get_result rc=0 msg=success value=\n");
    BOOST_TEST(ask("cmd=get kvsname=space key=other") ==
               "cmd=get_result rc=-1 msg=key_not_found\n");
    BOOST_TEST(ask("cmd=get kvsname=else key=k") == "cmd=get_result rc=-1 msg=unknown_kvsname\n");
}

BOOST_FIXTURE_TEST_CASE(the_process_mapping_is_known_and_other_reserved_keys_are_empty, Ranks) {
    join();
    BOOST_TEST(ask("cmd=get kvsname=space key=PMI_process_mapping") ==
               "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))\n");
    BOOST_TEST(ask("cmd=get kvsname=space key=PMI_dead_processes") ==
               "cmd=get_result rc=0 msg=success value=\n");
}

BOOST_FIXTURE_TEST_CASE(keys_and_values_keep_to_the_lengths_that_were_told, Ranks) {
    join();
    const auto put = [this](std::size_t key, std::size_t value) {
        return ask("cmd=put kvsname=space key=" + std::string(key, 'k') +
                   " value=" + std::string(value, 'v'));
    };
    BOOST_TEST(put(63, 1023) == "cmd=put_result rc=0 msg=success\n");
    BOOST_TEST(put(64, 1) == "cmd=put_result rc=-1 msg=invalid_key\n");
    BOOST_TEST(put(0, 1) == "cmd=put_result rc=-1 msg=invalid_key\n");
    BOOST_TEST(put(1, 1024) == "cmd=put_result rc=-1 msg=value_too_long\n");
    BOOST_TEST(ask("cmd=put kvsname=space value=cmd key=k") ==
               "cmd=put_result rc=-1 msg=invalid_key\n");
}

BOOST_FIXTURE_TEST_CASE(a_barrier_is_answered_at_its_end, Ranks) {
    join();
    const Reaction in = session.on_line("cmd=barrier_in");
    BOOST_TEST(in.event == Event::barrier);
    BOOST_TEST(in.answer.empty());
    BOOST_TEST(session.in_barrier());
    BOOST_TEST(session.end_barrier(true) == "cmd=barrier_out rc=0\n");
    BOOST_TEST(!session.in_barrier());
    (void)ask("cmd=barrier_in");
    BOOST_TEST(session.end_barrier(false) == "cmd=error rc=-1 msg=a_rank_has_ended\n");
}

BOOST_FIXTURE_TEST_CASE(an_abort_has_a_code_and_may_come_at_any_time, Ranks) {
    const Reaction early = session.on_line("cmd=abort");
    BOOST_TEST(early.event == Event::aborted);
    BOOST_TEST(early.code == 1);
    join();
    (void)ask("cmd=barrier_in");
    BOOST_TEST(session.on_line("cmd=abort exitcode=-7").code == -7);
    BOOST_TEST(session.on_line("cmd=abort exitcode=99999999999").code == 1);
}

BOOST_FIXTURE_TEST_CASE(a_line_that_breaks_the_protocol_is_refused, Ranks) {
    for (const std::string& line :
         {std::string("hello"), std::string(), std::string("cmd"), std::string("cmd="),
          std::string("x=cmd=init"), std::string("value=x cmd=init"), std::string(1, '\0'),
          std::string(5000, ' '), std::string("cmd=get_maxes"), std::string("mcmd=spawn")}) {
        BOOST_TEST(event(line) == Event::broken, line);
    }
    join();
    BOOST_TEST(event("cmd=init pmi_version=1 pmi_subversion=1") == Event::broken);
    BOOST_TEST(ask("cmd=publish_name service=a port=b") == "cmd=error rc=-1 msg=not_supported\n");
    (void)ask("cmd=barrier_in");
    BOOST_TEST(event("cmd=get_maxes") == Event::broken);
    BOOST_TEST(event("cmd=barrier_in") == Event::broken);
    BOOST_TEST(event("cmd=init pmi_version=1") == Event::broken);
    BOOST_TEST(event("mcmd=spawn") == Event::broken);
}

BOOST_FIXTURE_TEST_CASE(programs_to_be_spawned_get_one_refusal_together, Ranks) {
    join();
    for (const std::string so_far : {"1", "2"}) {
        for (const std::string& line :
             {std::string("mcmd=spawn"), std::string("nprocs=1"), std::string("execname=cmd=abort"),
              std::string("totspawns=2"), "spawnssofar=" + so_far}) {
            const Reaction reaction = session.on_line(line);
            BOOST_TEST(reaction.answer.empty());
            BOOST_TEST(reaction.event == Event::none);
        }
        const Reaction last = session.on_line("endcmd");
        const bool whole = so_far == "2";
        BOOST_TEST((last.event == (whole ? Event::spawn : Event::none)));
        BOOST_TEST(last.answer == (whole ? "cmd=spawn_result rc=-1 msg=not_supported\n" : ""));
    }
    BOOST_TEST(ask("cmd=get_appnum") == "cmd=appnum rc=0 appnum=0\n");
}

BOOST_FIXTURE_TEST_CASE(a_program_that_comes_by_the_port_is_told_its_rank, Ranks) {
    BOOST_TEST(ask("cmd=initack pmiid=3") ==
               "cmd=initack rc=0\ncmd=set size=4\ncmd=set rank=3\ncmd=set debug=0\n");
    join();
    BOOST_TEST(ask("cmd=get_appnum") == "cmd=appnum rc=0 appnum=0\n");
}

BOOST_AUTO_TEST_CASE(a_barrier_carries_what_is_new_to_other_nodes) {
    pmi1::Store one, two, three;
    BOOST_TEST(one.put("a", "1"));
    BOOST_TEST(one.put("b", "of 1"));
    BOOST_TEST(one.put("a", "11"));
    BOOST_TEST(two.put("c", ""));
    const std::string all = one.take_new() + two.take_new();
    BOOST_TEST(one.take_new().empty());
    for (pmi1::Store* store : {&one, &two, &three}) {
        store->merge(all);
        BOOST_TEST(*store->get("a") == "11");
        BOOST_TEST(*store->get("b") == "of 1");
        BOOST_TEST(store->get("c")->empty());
        BOOST_TEST(store->take_new().empty());
    }
    three.merge("\n\nnonsense\nd 4");
    BOOST_TEST(*three.get("d") == "4");
    BOOST_TEST(three.get("nonsense") == nullptr);
}

BOOST_AUTO_TEST_CASE(the_store_of_a_job_is_bounded) {
    pmi1::Store store;
    const std::string value(1 << 20, 'v');
    for (int i = 0; i < 1000; ++i) BOOST_TEST_REQUIRE(store.put("same", value));
    int taken = 0;
    while (taken < 100 && store.put(std::to_string(taken), value)) ++taken;
    BOOST_TEST(taken == 62);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(pmi1_server)

namespace {

// Two ranks of one node, and what the server wants of the agent.
struct Node : pmi1::Host {
    Loop loop;
    std::vector<std::string> heard;
    std::vector<Fence> fences;
    pmi1::Server server{loop, *this, {"space", 2, "(vector,(0,1,2))"}};
    std::vector<batchai::sys::UniqueFd> ends;

    Node() {
        for (int rank : {0, 1}) ends.push_back(std::move(*server.connect(rank)));
    }
    void note(int rank, const std::string& what) { heard.push_back(std::to_string(rank) + what); }
    void joined(int rank) override { note(rank, " joined"); }
    void finalized(int rank) override { note(rank, " left"); }
    void barrier(Fence fence) override { fences.push_back(std::move(fence)); }
    void aborted(int rank, int code, std::string why) override {
        note(rank, " aborted " + std::to_string(code) + why);
    }
    void spawn_refused(int rank, std::string) override { note(rank, " spawned"); }
    void turn() { uv_run(loop.get(), UV_RUN_NOWAIT); }
    void say(int rank, const std::string& text) {
        (void)::send(ends[rank].get(), text.data(), text.size(), MSG_NOSIGNAL);
        for (int i = 0; i < 4; ++i) turn();
    }
    void join() {
        for (int rank : {0, 1}) {
            say(rank, "cmd=init pmi_version=1 pmi_subversion=1\n");
            (void)hear(rank);
        }
        heard.clear();
    }
    // "closed", or what there is.
    std::string hear(int rank) {
        char bytes[4096];
        const ssize_t size = ::recv(ends[rank].get(), bytes, sizeof bytes, MSG_DONTWAIT);
        if (size == 0 || (size < 0 && errno == ECONNRESET)) return "closed";
        return {bytes, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
    }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_rank_that_asks_for_new_processes_is_told_of, Node) {
    join();
    heard.clear();
    say(1, "mcmd=spawn\nexecname=true\ntotspawns=1\nspawnssofar=1\nendcmd\n");
    BOOST_TEST(heard == std::vector<std::string>{"1 spawned"}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_fence_goes_out_when_all_of_the_node_have_arrived, Node) {
    join();
    say(0, "cmd=put kvsname=space key=a value=1\n");
    say(0, "cmd=bar");
    say(0, "rier_in\n");
    BOOST_TEST(fences.empty());
    say(1, "cmd=barrier_in\n");
    BOOST_REQUIRE(fences.size() == 1U);
    BOOST_TEST(fences[0].id.purpose == kPmi1);
    BOOST_TEST(fences[0].status == 0);
    BOOST_TEST(fences[0].data == "a 1\n");
    (void)hear(0);
    server.on_fence_done({{kPmi1, RankSet::range(0, 1)}, 0, 0, "a 1\nb 2\n"});
    for (int rank : {0, 1}) {
        BOOST_TEST(hear(rank) == "cmd=barrier_out rc=0\n");
        say(rank, "cmd=get kvsname=space key=b\n");
        BOOST_TEST(hear(rank) == "cmd=get_result rc=0 msg=success value=2\n");
    }
    say(1, "cmd=finalize\n");
    BOOST_TEST(heard == std::vector<std::string>{"1 left"}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_fence_without_a_rank_that_has_ended_fails, Node) {
    join();
    say(0, "cmd=barrier_in\n");
    server.forget(1);
    BOOST_REQUIRE(fences.size() == 1U);
    BOOST_TEST(fences[0].status != 0);
    server.on_fence_done({{kPmi1, RankSet::range(0, 1)}, fences[0].status, 0, {}});
    BOOST_TEST(hear(0) == "cmd=error rc=-1 msg=a_rank_has_ended\n");
}

BOOST_FIXTURE_TEST_CASE(a_rank_that_ends_in_a_barrier_has_arrived_all_the_same, Node) {
    join();
    say(0, "cmd=barrier_in\n");
    server.forget(0);
    BOOST_TEST(fences.empty());
    say(1, "cmd=barrier_in\n");
    BOOST_REQUIRE(fences.size() == 1U);
    BOOST_TEST(fences[0].status == 0);
}

BOOST_FIXTURE_TEST_CASE(messages_before_a_ranks_end_are_not_lost, Node) {
    join();
    const std::string words = "cmd=abort exitcode=3\n";
    (void)::send(ends[1].get(), words.data(), words.size(), MSG_NOSIGNAL);
    server.hear_out(1);
    server.forget(1);
    BOOST_TEST(heard == std::vector<std::string>{"1 aborted 3"}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(nonsense_ends_the_connection_and_the_job, Node) {
    say(0, std::string(10000, 'x'));
    BOOST_TEST(hear(0) == "closed");
    say(1, "\n\n\n");
    BOOST_TEST(hear(1) == "closed");
    BOOST_TEST(heard.size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(a_rank_that_does_not_read_its_answers_is_disconnected, Node) {
    join();
    std::string requests;
    for (int i = 0; i < 200; ++i) requests += "cmd=get_maxes\n";
    bool open = true;
    for (int i = 0; i < 1000 && open; ++i) {
        open = ::send(ends[0].get(), requests.data(), requests.size(), MSG_NOSIGNAL) > 0;
        turn();
    }
    BOOST_TEST(!open);
}

BOOST_AUTO_TEST_SUITE_END()
