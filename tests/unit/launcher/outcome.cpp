// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/outcome.hpp"

#include "launcher/common/bootstrap.hpp"
#include "tests/unit/printing.hpp"

#include <boost/test/unit_test.hpp>
#include <csignal>

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(outcome)

namespace {

const RankMap kMap{{"n1", "n2"}, {0, 2, 4}};

RankEnd end_of(int rank, RankEnd::How how, int code, double time, bool asked = false) {
    RankEnd end;
    end.rank = rank;
    end.how = how;
    end.code = code;
    end.time = time;
    end.ran = 1.25;
    end.asked = asked;
    return end;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_without_a_failure_has_no_report) {
    Outcome outcome;
    for (int r = 0; r < 4; ++r) outcome.add(end_of(r, RankEnd::How::exited, 0, r));
    BOOST_TEST(!outcome.failed());
    BOOST_TEST(outcome.exit_code() == 0);
    BOOST_TEST(outcome.text(kMap, true).empty());
}

BOOST_AUTO_TEST_CASE(the_earliest_failure_is_the_cause_whoever_reports_first) {
    Outcome outcome;
    outcome.add(end_of(0, RankEnd::How::exited, 1, 20.0));
    auto culprit = end_of(2, RankEnd::How::exited, 3, 10.0);
    culprit.tail = {"Traceback", "ValueError"};
    outcome.add(culprit);
    outcome.add(end_of(1, RankEnd::How::signaled, SIGTERM, 9.0, true));  // it was told to
    BOOST_TEST(outcome.exit_code() == 3);
    BOOST_TEST(outcome.line(kMap) == "batchai-launch: rank 2 on n2 exited with code 3 after 1.2 s");
    BOOST_TEST(outcome.text(kMap, true) ==
               "batchai-launch: rank 2 on n2 exited with code 3 after 1.2 s\n"
               "  last lines of its stderr:\n    Traceback\n    ValueError\n"
               "  2 other ranks ended after it\n");
}

BOOST_AUTO_TEST_CASE(the_report_names_the_failed_ranks_own_file) {
    Program master, workers;
    master.ranks = 1;
    workers.ranks = 3;
    workers.first_index = 1;
    master.output = workers.output = "/o {x}/{stream}-wk-{index}.txt";
    Outcome outcome;
    outcome.set_programs({master, workers});
    auto culprit = end_of(2, RankEnd::How::exited, 3, 1.0);
    culprit.tail = {"Traceback"};
    outcome.add(culprit);
    BOOST_TEST(outcome.error_file() == "stderr-wk-2.txt");
    BOOST_TEST(outcome.text(kMap, true).find("  last lines of its stderr (stderr-wk-2.txt):\n") !=
               std::string::npos);
    Outcome common;
    common.set_programs({Program{}});
    common.add(culprit);
    BOOST_TEST(common.error_file().empty());
}

BOOST_AUTO_TEST_CASE(misplaced_output_is_a_failure_only_if_there_is_no_other) {
    Outcome outcome;
    outcome.add(end_of(0, RankEnd::How::exited, 0, 1.0));
    outcome.add(Misplaced{"/a: full; the ranks' output goes on in n1:/var/tmp/a", "n1:/var/tmp/a"});
    outcome.add(Misplaced{"/b: full; the ranks' output is lost from here on"});
    BOOST_TEST(!outcome.failed());  // the job goes on
    BOOST_TEST(outcome.exit_code() == kMisplacedOutput);
    BOOST_TEST(outcome.cause() == Cause::other);
    BOOST_TEST(outcome.text(kMap, true) ==
               "batchai-launch: the ranks ended well, but some of their output is not in its file: "
               "/a: full; the ranks' output goes on in n1:/var/tmp/a\n"
               "  /b: full; the ranks' output is lost from here on\n");
    Outcome whole;
    whole.add(end_of(0, RankEnd::How::exited, 0, 1.0));
    whole.add(Misplaced{"/a: full", "n1:/var/tmp/a"});
    whole.add(Misplaced{"/a: full", "n1:/var/tmp/a2"});  // the next attempt's
    whole.add(Misplaced{"/a: can be written again", "n1:/var/tmp/a2", true});
    BOOST_TEST(whole.exit_code() == kMisplacedOutput);
    whole.add(Misplaced{"/a: can be written again", "n1:/var/tmp/a", true});
    BOOST_TEST(whole.exit_code() == 0);
    outcome.add(end_of(1, RankEnd::How::exited, 3, 2.0));
    BOOST_TEST(outcome.exit_code() == 3);
    BOOST_TEST(outcome.cause() == Cause::rank);
    BOOST_TEST(outcome.text(kMap, false) ==
               "batchai-launch: rank 1 on n1 exited with code 3 after 1.2 s\n"
               "  /a: full; the ranks' output goes on in n1:/var/tmp/a\n"
               "  /b: full; the ranks' output is lost from here on\n");
}

BOOST_AUTO_TEST_CASE(ranks_that_follow_no_rank_are_not_called_other_ranks) {
    Outcome outcome;
    outcome.add({1.0, "batchai-launch: standard output: broken pipe"});
    outcome.add(end_of(0, RankEnd::How::signaled, SIGTERM, 2.0, true));
    BOOST_TEST(outcome.text(kMap, true) ==
               "batchai-launch: standard output: broken pipe\n  1 rank ended after it\n");
}

BOOST_AUTO_TEST_CASE(the_culprit_is_described) {
    Outcome outcome;
    auto end = end_of(1, RankEnd::How::signaled, SIGKILL, 1.0);
    end.pid = 77;
    end.gpu = 1;
    end.memory = true;
    end.tail = {"last words", "NCCL WARN twice"};
    end.library_errors = {"NCCL WARN once", "NCCL WARN twice"};
    outcome.add(end);
    BOOST_TEST(
        outcome.text(kMap, true) ==
        "batchai-launch: rank 1 on n1 was killed by signal 9 (SIGKILL) after 1.2 s, for lack "
        "of memory\n  process 77, GPU 1\n  errors of its libraries:\n    NCCL WARN once\n"
        "  last lines of its stderr:\n    last words\n    NCCL WARN twice\n");
}

BOOST_AUTO_TEST_CASE(signals_have_names_and_codes_above_128) {
    Outcome outcome;
    auto end = end_of(3, RankEnd::How::signaled, SIGSEGV, 1.0);
    end.core = true;
    outcome.add(end);
    BOOST_TEST(outcome.exit_code() == 139);
    BOOST_TEST(
        outcome.line(kMap) ==
        "batchai-launch: rank 3 on n2 was killed by signal 11 (SIGSEGV), core dumped, after 1.2 s");
}

BOOST_AUTO_TEST_CASE(an_abort_ends_the_job_with_its_code_and_0_is_no_failure) {
    const auto aborted = [](int code) {
        Outcome outcome;
        outcome.add(end_of(0, RankEnd::How::aborted, code, 1.0));
        outcome.add(end_of(1, RankEnd::How::signaled, SIGTERM, 1.1, true));
        return outcome;
    };
    BOOST_TEST(aborted(0).failed());  // the other ranks are ended
    BOOST_TEST(aborted(0).exit_code() == 0);
    BOOST_CHECK(aborted(0).cause() == Cause::none);
    BOOST_TEST(aborted(0).text(kMap, true).find("aborted the job with code 0") !=
               std::string::npos);
    BOOST_TEST(aborted(3).exit_code() == 3);
    BOOST_TEST(aborted(256).exit_code() == 1);
}

BOOST_AUTO_TEST_CASE(a_time_out_is_the_cause_of_the_deaths_after_it) {
    Outcome outcome;
    outcome.add({5.0, "time-out", 124});
    outcome.add(end_of(0, RankEnd::How::signaled, SIGTERM, 5.1, true));
    outcome.add(end_of(1, RankEnd::How::exited, 1, 5.2, true));
    BOOST_TEST(outcome.exit_code() == 124);
    BOOST_TEST(outcome.line(kMap) == "time-out");
}

// The root may know whom ranks waited for only after they were told and have ended.
BOOST_AUTO_TEST_CASE(a_rank_that_others_waited_for_comes_before_them) {
    Outcome outcome;
    outcome.add(end_of(2, RankEnd::How::exited, 0, 10.0));
    BOOST_TEST(!outcome.ended_at(0).has_value());
    BOOST_TEST(outcome.ended_at(2).value() == 10.0);
    outcome.add(end_of(0, RankEnd::How::exited, 99, 10.5));
    outcome.add({*outcome.ended_at(2), "batchai-launch: rank 2 was awaited", 1, Cause::rank});
    BOOST_TEST(outcome.exit_code() == 1);
    BOOST_TEST(outcome.line(kMap) == "batchai-launch: rank 2 was awaited");
}

BOOST_AUTO_TEST_CASE(a_job_that_was_asked_to_end_is_no_failure_of_its_ranks) {
    Outcome outcome;
    outcome.add(end_of(0, RankEnd::How::exited, 3, 4.8));  // Slurm told the rank first
    outcome.add({4.0, "asked to end", 143, Cause::signal});
    outcome.add(end_of(3, RankEnd::How::signaled, SIGTERM, 4.9));
    outcome.add(end_of(1, RankEnd::How::exited, 0, 5.5, true));
    outcome.add(end_of(2, RankEnd::How::signaled, SIGKILL, 15.0, true));
    outcome.explain_signal(": time is over");
    BOOST_TEST(outcome.cause() == Cause::signal);
    BOOST_TEST(outcome.exit_code() == 143);
    BOOST_TEST(outcome.text(kMap, true) ==
               "asked to end: time is over\n  1 of 4 ranks did not end in time and were killed\n");
}

BOOST_AUTO_TEST_CASE(a_lost_agent_is_explained_by_what_its_own_guard_says_only) {
    Outcome outcome;
    outcome.add({5.0, "lost n1", 125, Cause::node, false, "n1"});
    outcome.explain_loss("n2", "n2 died");
    BOOST_TEST(outcome.line(kMap) == "lost n1");
    outcome.explain_loss("n1", "n1 died");
    BOOST_TEST(outcome.line(kMap) == "n1 died");
}

BOOST_AUTO_TEST_CASE(a_death_notice_is_read_as_it_was_said_and_nothing_else_is) {
    const DeathNotice said("n2", SIGSEGV);
    BOOST_TEST(said.sentence == "the agent on n2 died of SIGSEGV");
    const auto read = DeathNotice::from_line("batchai-launch: " + said.sentence);
    BOOST_REQUIRE(read.has_value());
    BOOST_TEST(read->node == "n2");
    BOOST_TEST(read->sentence == said.sentence);
    for (const char* other :
         {"", "the agent on n2 died of SIGSEGV", "batchai-launch: n2: no memory",
          "batchai-launch: the agent on n2 says nothing"}) {
        BOOST_TEST(!DeathNotice::from_line(other).has_value());
    }
}

BOOST_AUTO_TEST_CASE(a_rank_that_died_long_before_the_signal_is_still_the_cause) {
    Outcome outcome;
    outcome.add(end_of(0, RankEnd::How::signaled, SIGTERM, 1.0));
    outcome.add({4.0, "asked to end", 143, Cause::signal});
    BOOST_TEST(outcome.cause() == Cause::rank);
}

namespace {

// Two workers, ranks 0 and 1, and two that serve them.
Outcome with_servers() {
    Program workers, servers;
    workers.ranks = servers.ranks = 2;
    servers.serves = true;
    Outcome outcome;
    outcome.set_programs({workers, servers});
    return outcome;
}

}  // namespace

BOOST_AUTO_TEST_CASE(servers_that_end_with_the_others_are_no_failure) {
    Outcome outcome = with_servers();
    outcome.add(end_of(0, RankEnd::How::exited, 0, 1.0));
    BOOST_TEST(!outcome.only_servers_run());
    outcome.add(end_of(1, RankEnd::How::exited, 0, 2.0));
    BOOST_TEST(outcome.only_servers_run());
    outcome.add(end_of(2, RankEnd::How::signaled, SIGTERM, 3.0, true));
    outcome.add(end_of(3, RankEnd::How::exited, 143, 3.0, true));
    BOOST_TEST(!outcome.only_servers_run());
    BOOST_TEST(outcome.exit_code() == 0);
    BOOST_TEST(outcome.text(kMap, true).empty());
}

BOOST_AUTO_TEST_CASE(a_server_that_fails_by_itself_fails_the_job) {
    Outcome outcome = with_servers();
    outcome.add(end_of(2, RankEnd::How::exited, 4, 1.0));
    BOOST_TEST(outcome.failed());
    BOOST_TEST(!outcome.only_servers_run());
    outcome.add(end_of(0, RankEnd::How::signaled, SIGTERM, 2.0, true));
    outcome.add(end_of(1, RankEnd::How::signaled, SIGTERM, 2.0, true));
    outcome.add(end_of(3, RankEnd::How::signaled, SIGTERM, 2.0, true));
    BOOST_TEST(outcome.exit_code() == 4);
    BOOST_TEST(outcome.text(kMap, false) ==
               "batchai-launch: rank 2 on n2 exited with code 4 after 1.2 s\n"
               "  2 other ranks ended after it\n");
}

BOOST_AUTO_TEST_SUITE_END()
