// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/viewers.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <nlohmann/json.hpp>

#include "launcher/agent/output.hpp"
#include "launcher/common/processes.hpp"

using namespace batchai::launcher;

namespace {

const RankMap kPlaces{{"n1", "n2"}, {0, 2, 4}};  // two ranks on each

// Two nodes of two ranks, by the ranks' shares of waiting; a negative one is unknown.
std::vector<NodeView> waiting(const std::vector<double>& shares) {
    std::vector<NodeView> nodes{{"n1", 0, Sampled()}, {"n2", 0, Sampled()}};
    for (std::size_t rank = 0; rank < shares.size(); ++rank) {
        RankSample sample;
        sample.rank = static_cast<int>(rank);
        sample.waiting = shares[rank];
        nodes[rank / 2].sampled->ranks.push_back(sample);
    }
    return nodes;
}

void expect(const std::vector<double>& shares, const std::vector<int>& ranks, double share = 0) {
    const Culprits culprits = find_culprits(waiting(shares));
    BOOST_TEST(culprits.ranks == ranks, boost::test_tools::per_element());
    BOOST_TEST(culprits.share == share, boost::test_tools::tolerance(1e-9));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(viewers)

BOOST_AUTO_TEST_CASE(the_rank_that_waits_much_less_than_the_others_makes_them_wait) {
    expect({0.9, 0.8, 0.05, 0.7}, {2}, 0.8);
    expect({0.0, 1.0}, {0}, 1.0);  // as in a hang
    expect({0.9, 0.1, 0.9, 0.05}, {1, 3}, 0.9);
    expect({-1, 0.9, 0.1, 0.9}, {2}, 0.9);  // a rank that does not use the library
}

BOOST_AUTO_TEST_CASE(no_rank_is_named_if_all_wait_alike_or_only_a_few_wait) {
    expect({0.3, 0.35, 0.32, 0.38}, {});
    expect({0, 0, 0, 0}, {});
    expect({0.1, 0.25, 0.2, 0.25}, {});   // communication, not a slow rank
    expect({0.05, 0.05, 0.05, 0.9}, {});  // rank 3 has less to do
    expect({-1, -1, -1, -1}, {});
    expect({0.5}, {});
}

BOOST_AUTO_TEST_CASE(the_document_has_the_ranks_in_their_order_and_null_for_what_is_unknown) {
    std::vector<NodeView> nodes = waiting({0.9, -1, 0.1});
    std::swap(nodes[0].sampled, nodes[1].sampled);  // whatever the nodes' order is
    nodes[0].gpus = 4;
    nodes[0].sampled->ranks[0].line = "bytes \xff and \"quotes\"\n";
    const std::string text = view_of({1, 3, 2}, nodes, kPlaces, 5);
    BOOST_TEST(text.find('\n') == text.npos);
    const auto document = nlohmann::json::parse(text);
    BOOST_TEST(document["version"] == 1);
    BOOST_TEST(document["restarts"] == 1);
    BOOST_TEST(document["requeues"] == 2);
    const auto& ranks = document["ranks"];
    BOOST_REQUIRE_EQUAL(ranks.size(), 3U);
    BOOST_TEST(ranks[0]["rank"] == 0);
    BOOST_TEST(ranks[1]["waiting"].is_null());
    BOOST_TEST(ranks[1]["gpu"].is_null());
    BOOST_TEST(ranks[2]["waiting"] == 0.1);
    BOOST_TEST(ranks[2]["gpu"] == 0);
    BOOST_TEST(ranks[2]["name"] == "2");
    BOOST_TEST(ranks[2]["line"] == "bytes \xef\xbf\xbd and \"quotes\"\n");
    nodes[1].sampled.reset();  // its agent has not answered
    BOOST_TEST(nlohmann::json::parse(view_of({}, nodes, kPlaces, 5))["ranks"].size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_rank_of_a_further_job_has_the_name_that_users_read) {
    RankMap map = kPlaces;
    map.further = {2};
    const auto document = nlohmann::json::parse(view_of({}, waiting({0.9, 0.9, 0, 0.9}), map, 5));
    BOOST_TEST(document["awaited"]["ranks"][0] == 2);
    BOOST_TEST(document["awaited"]["names"] == "1:0");
    BOOST_TEST(document["ranks"][3]["name"] == "1:1");
}

BOOST_AUTO_TEST_CASE(the_last_line_of_output_is_without_its_end_and_not_empty) {
    BOOST_TEST(last_line_of("one\ntwo\n") == "two");
    BOOST_TEST(last_line_of("one\n\r\n\n") == "one");
    BOOST_TEST(last_line_of(" 10 %\r 20 %\r") == " 20 %");
    BOOST_TEST(last_line_of("a prompt: ") == "a prompt: ");
    BOOST_TEST(last_line_of("\n").empty());
    BOOST_TEST(last_line_of("").empty());
    BOOST_TEST(last_line_of("x\n" + std::string(1000, 'y') + "\n") == std::string(256, 'y'));
    BOOST_TEST(last_line_of(std::string(1 << 20, 'z')).size() == 256U);
}

BOOST_AUTO_TEST_CASE(what_a_process_uses_includes_its_children) {
    const Usage own = usage_of(::getpid());
    BOOST_TEST(own.state == 'R');
    BOOST_TEST(own.resident > 1e6);
    const pid_t child = ::fork();
    if (child == 0) {
        (void)::mmap(nullptr, 64 << 20, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        for (;;) ::kill(::getpid(), SIGSTOP);
    }
    ::waitpid(child, nullptr, WUNTRACED);
    BOOST_TEST(usage_of(child).state == 'T');
    BOOST_TEST(usage_of(::getpid()).resident > own.resident + (64 << 20));
    BOOST_TEST(usage_of(::getpid()).state == 'R');
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    BOOST_TEST(usage_of(-1).state == 0);
}

BOOST_AUTO_TEST_SUITE_END()
