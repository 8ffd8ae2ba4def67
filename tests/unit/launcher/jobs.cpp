// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/jobs.hpp"

#include <boost/test/unit_test.hpp>

#include "launcher/common/message.hpp"
#include "launcher/pmix/job_names.hpp"
#include "launcher/root/spawning.hpp"

using namespace batchai::launcher;

namespace {

const RankMap kTwoNodes{{"n1", "n2"}, {0, 2, 3}};

Program program(int ranks) {
    Program one;
    one.ranks = ranks;
    one.argv = {"worker"};
    return one;
}

// Three ranks of the user's, and two of a further job: one on each node.
Jobs two_jobs() {
    Jobs jobs;
    jobs.add({"job", 0, -1, kTwoNodes, {program(3)}});
    Job further = job_on({1, 0}, jobs.map(), {program(2)});
    further.nspace = "job.1";
    further.parent = 2;
    jobs.add(further);
    return jobs;
}

batchai::sys::Result<Job> placed(SpawnJob order, std::vector<int> slots, int ended = -1) {
    order.hosts.resize(order.programs.size());
    return place(order, kTwoNodes, slots, [ended](int rank) { return rank == ended; });
}

std::vector<std::string> nodes_of(const Job& job) {
    std::vector<std::string> names;
    for (int rank = 0; rank < job.map.size(); ++rank)
        names.push_back(job.map.nodes[job.map.node_of(rank)]);
    return names;
}

using Names = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_SUITE(jobs)

BOOST_AUTO_TEST_CASE(a_set_of_ranks_keeps_ranges) {
    const RankSet set({7, 3, 1, 2, 3});
    for (int rank = -1; rank < 10; ++rank)
        BOOST_TEST(set.contains(rank) == (rank == 1 || rank == 2 || rank == 3 || rank == 7));
    BOOST_TEST((set.ranks() == std::vector<std::uint32_t>{1, 2, 3, 7}));
    BOOST_TEST((set == RankSet({1, 2, 3, 7})));
    BOOST_TEST((RankSet({4, 5, 6}) == RankSet::range(4, 6)));
    BOOST_TEST(RankSet::all().contains(0));
    BOOST_TEST(RankSet::all().contains(1 << 30));
    BOOST_TEST(RankSet().empty());
    BOOST_TEST(!RankSet().contains(0));
}

BOOST_AUTO_TEST_CASE(the_ranks_of_a_further_job_have_the_next_numbers) {
    const Jobs jobs = two_jobs();
    BOOST_TEST(jobs.map().size() == 5);
    BOOST_TEST(jobs.map().node_of(3) == 1);
    BOOST_TEST(jobs.map().node_of(4) == 0);
    BOOST_TEST(jobs.map().local_rank(4) == 2);
    BOOST_TEST(jobs.of(2).nspace == "job");
    BOOST_TEST(jobs.of(3).nspace == "job.1");
    BOOST_TEST(jobs.of(4).first == 3);
    BOOST_TEST(jobs.is_of_first(2));
    BOOST_TEST(!jobs.is_of_first(3));
    BOOST_TEST(program_of(jobs.programs(), 4).place == 1);
}

BOOST_AUTO_TEST_CASE(users_read_the_ranks_of_a_further_job_with_the_jobs_number) {
    const Jobs jobs = two_jobs();
    BOOST_TEST(jobs.map().name(2) == "2");
    BOOST_TEST(jobs.map().name(4) == "1:1");
    BOOST_TEST(jobs.map().names({0, 1, 2, 4}) == "0-2,1:1");
    BOOST_TEST(jobs.map().names({3, 4}) == "1:0-1");
}

BOOST_AUTO_TEST_CASE(a_job_that_does_not_start_leaves_nothing) {
    Jobs jobs = two_jobs();
    jobs.remove_last();
    BOOST_TEST(jobs.map().size() == 3);
    BOOST_TEST(jobs.map().further.empty());
    BOOST_TEST(jobs.programs().size() == 1U);
    BOOST_TEST(jobs.list().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_job_arrives_as_it_was_sent) {
    const Job job = two_jobs().list().back();
    const auto arrived = batchai::sys::decode_whole<Job>(batchai::sys::encode(job));
    BOOST_REQUIRE(arrived.has_value());
    BOOST_TEST(arrived->nspace == "job.1");
    BOOST_TEST(arrived->first == 3);
    BOOST_TEST(arrived->parent == 2);
    BOOST_TEST((nodes_of(*arrived) == Names{"n2", "n1"}));
}

// The upper half of Open MPI 4.1's number for a job: the same hash, written down from its source.
BOOST_AUTO_TEST_CASE(open_mpi_takes_the_jobs_of_a_launch_for_one_family) {
    const auto family = [](const std::string& name) {
        std::uint32_t hash = 0;
        for (const unsigned char letter : name) {
            hash += letter;
            hash += hash << 10;
            hash ^= hash >> 6;
        }
        hash += hash << 3;
        hash ^= hash >> 11;
        return (hash + (hash << 15)) & 0xffff7fff;
    };
    std::vector<Job> jobs{{"batchai.12.0123456789abcdef", 0, -1, {{}, {0}}, {}}};
    for (int count = 1; count < 8; ++count) {
        Job next = jobs.front();
        next.nspace = next_name(jobs);
        BOOST_TEST(next.nspace.starts_with("batchai.12.0123456789abcdef." + std::to_string(count)));
        for (const Job& job : jobs) {
            BOOST_TEST((family(job.nspace) >> 16) == (family(next.nspace) >> 16));
            BOOST_TEST(family(job.nspace) != family(next.nspace));
        }
        jobs.push_back(next);
    }
}

BOOST_AUTO_TEST_CASE(pmix_names_and_numbers_are_translated_both_ways) {
    pmix::JobNames names;
    names.add("job", 0, 3);
    names.add("job.1", 3, 2);
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, "job.1", 1);
    BOOST_TEST(*names.number(proc) == 4U);
    BOOST_TEST(names.proc(4).rank == 1U);
    BOOST_TEST(std::string(names.proc(4).nspace) == "job.1");
    BOOST_TEST(std::string(names.proc(5).nspace).empty());
    PMIX_LOAD_PROCID(&proc, "job.1", 2);
    BOOST_TEST(!names.number(proc).has_value());
    PMIX_LOAD_PROCID(&proc, "other", 0);
    BOOST_TEST(!names.number(proc).has_value());
    pmix_proc_t both[2];
    PMIX_LOAD_PROCID(&both[0], "job.1", PMIX_RANK_WILDCARD);
    PMIX_LOAD_PROCID(&both[1], "job", 2);
    BOOST_TEST((*names.numbers(both, 2) == RankSet::range(2, 4)));
    BOOST_TEST((*names.numbers(both, 1) == RankSet::range(3, 4)));
    BOOST_TEST(names.names() == "job,job.1");
    names.remove_last();
    BOOST_TEST(!names.numbers(both, 2).has_value());
}

BOOST_AUTO_TEST_CASE(a_job_is_placed_on_slots_that_no_live_rank_has) {
    SpawnJob order;
    order.parent = 1;
    order.programs = {program(2), program(1)};
    const auto job = placed(order, {3, 4});  // one is free on n1, three on n2
    BOOST_REQUIRE(job);
    BOOST_TEST((nodes_of(*job) == Names{"n1", "n2", "n2"}));
    BOOST_TEST(job->first == 3);
    BOOST_TEST(job->parent == 1);
    BOOST_TEST((nodes_of(*placed(order, {2, 4})) == Names{"n2", "n2", "n2"}));
    BOOST_TEST((nodes_of(*placed(order, {2, 3}, 0)) == Names{"n1", "n2", "n2"}),
               "rank 0 has ended");
}

BOOST_AUTO_TEST_CASE(a_job_may_ask_for_nodes_and_for_one_rank_on_each_in_turn) {
    SpawnJob order;
    order.programs = {program(3)};
    order.by_node = true;
    BOOST_TEST((nodes_of(*placed(order, {4, 4})) == Names{"n1", "n2", "n1"}));
    order.hosts = {"n2"};
    BOOST_TEST((nodes_of(*placed(order, {4, 4})) == Names{"n2", "n2", "n2"}));
    order.programs = {program(1), program(2)};
    order.hosts = {"n2", "n1"};
    BOOST_TEST((nodes_of(*placed(order, {4, 4})) == Names{"n2", "n1", "n1"}));
    order.hosts = {"n3"};
    BOOST_TEST(placed(order, {4, 4}).error().message == "on n3, which is no node of the launch");
}

BOOST_AUTO_TEST_CASE(a_job_that_needs_more_slots_than_are_free_is_refused) {
    SpawnJob order;
    order.programs = {program(3)};
    BOOST_TEST(placed(order, {3, 2}).error().message ==
               "for 3 ranks, and 2 of 5 slots are free. Ask Slurm for more tasks (--ntasks), or "
               "start fewer ranks with -n");
    BOOST_TEST(!placed(order, {1, 1}));  // -n has put more ranks on the nodes than they have slots
}

BOOST_AUTO_TEST_SUITE_END()
