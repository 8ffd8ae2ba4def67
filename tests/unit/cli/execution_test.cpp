// SPDX-License-Identifier: Apache-2.0
#include "cli/history/execution.hpp"
#include "slurm/jobs.hpp"
#include "tests/unit/printing.hpp"

#include <boost/test/unit_test.hpp>

namespace batchai::cli {
namespace {

using State = Execution::State;

Evidence in_slurm(const std::string& state, int exit_code = 0) {
    Evidence evidence;
    evidence.slurm = slurm::Job{state, "mini", 100.0, 200.0, exit_code, ""};
    return evidence;
}

job::Event failed_event(const std::string& node, const std::string& message) {
    job::Event event;
    event.kind = job::Event::Kind::failed;
    event.node = node;
    event.code = "JobPreparationFailed";
    event.message = message;
    return event;
}

std::string state_of(const Evidence& evidence) {
    return state_name(judge(evidence).state);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(execution)

BOOST_AUTO_TEST_CASE(state_follows_slurm) {
    BOOST_TEST(state_of(in_slurm("PENDING")) == "queued");
    BOOST_TEST(state_of(in_slurm("CONFIGURING")) == "queued");
    BOOST_TEST(state_of(in_slurm("REQUEUE_HOLD")) == "queued");
    BOOST_TEST(state_of(in_slurm("RUNNING")) == "running");
    BOOST_TEST(state_of(in_slurm("SUSPENDED")) == "running");
    BOOST_TEST(state_of(in_slurm("COMPLETING")) == "running");
    BOOST_TEST(state_of(in_slurm("COMPLETED")) == "succeeded");
    for (const char* state : {"CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL"})
        BOOST_TEST(state_of(in_slurm(state)) == "failed", state);
    BOOST_TEST(state_of(in_slurm("FAILED", 3)) == "failed");
}

BOOST_AUTO_TEST_CASE(a_queued_job_has_no_start_time) {
    BOOST_TEST(!judge(in_slurm("PENDING")).start_time);
    BOOST_TEST(*judge(in_slurm("RUNNING")).start_time == 100.0);
    BOOST_TEST(!judge(in_slurm("RUNNING")).end_time);
}

BOOST_AUTO_TEST_CASE(a_job_that_was_cancelled_in_the_queue_has_not_started) {
    auto evidence = in_slurm("CANCELLED");
    evidence.slurm->start_time = evidence.slurm->end_time = 100;
    BOOST_TEST(!judge(evidence).start_time);
    BOOST_TEST(*judge(evidence).end_time == 100.0);
    evidence.events = {failed_event("n1", "n1: cancelled")};  // it ran for less than a second
    BOOST_TEST(*judge(evidence).start_time == 100.0);
    BOOST_TEST(judge(in_slurm("CANCELLED")).start_time.has_value());
}

BOOST_AUTO_TEST_CASE(a_failed_command_gives_its_exit_code_and_the_services_error) {
    const auto execution = judge(in_slurm("FAILED", 127));
    BOOST_TEST(*execution.exit_code == 127);
    BOOST_REQUIRE(execution.errors.size() == 1);
    BOOST_TEST(execution.errors[0].code == "JobFailed");
    BOOST_TEST(execution.errors[0].message == "Job failed with non-zero exit code");
}

BOOST_AUTO_TEST_CASE(a_terminated_job_has_no_exit_code) {
    const auto execution = judge(in_slurm("CANCELLED", 143));
    BOOST_TEST(!execution.exit_code);
    BOOST_REQUIRE(execution.errors.size() == 1);
    BOOST_TEST(execution.errors[0].code == "JobTerminated");
}

BOOST_AUTO_TEST_CASE(no_end_by_slurm_goes_without_a_cause) {
    const std::pair<const char*, const char*> causes[] = {{"NODE_FAIL", "JobNodeFailed"},
                                                          {"OUT_OF_MEMORY", "JobOutOfMemory"},
                                                          {"PREEMPTED", "JobPreempted"},
                                                          {"DEADLINE", "JobTimedOut"}};
    for (const auto& [state, code] : causes) {
        const auto execution = judge(in_slurm(state));
        BOOST_REQUIRE(execution.errors.size() == 1);
        BOOST_TEST(execution.errors[0].code == code);
        BOOST_TEST(!execution.exit_code);
    }
}

BOOST_AUTO_TEST_CASE(a_queued_job_has_slurms_reason) {
    auto evidence = in_slurm("PENDING");
    evidence.slurm->reason = "Resources";
    BOOST_TEST(judge(evidence).waits_for == "Resources");
    evidence.slurm->state = "RUNNING";
    evidence.slurm->reason = "None";
    BOOST_TEST(judge(evidence).waits_for.empty());
}

BOOST_AUTO_TEST_CASE(a_failure_of_the_whole_job_is_no_nodes) {
    auto evidence = in_slurm("FAILED", 1);
    evidence.events = {failed_event(job::kNoNode, "rank 0 failed")};
    BOOST_TEST(judge(evidence).errors.at(0).node.empty());
    evidence.events = {failed_event("launch", "launch: preparation failed")};
    BOOST_TEST(judge(evidence).errors.at(0).node == "launch");
}

BOOST_AUTO_TEST_CASE(a_job_is_terminating_until_slurm_has_ended_it) {
    auto evidence = in_slurm("RUNNING");
    evidence.terminating = true;
    BOOST_TEST(state_of(evidence) == "terminating");
    evidence.slurm->state = "CANCELLED";
    BOOST_TEST(state_of(evidence) == "failed");
}

BOOST_AUTO_TEST_CASE(says_each_nodes_line_once) {
    auto evidence = in_slurm("FAILED", 1);
    evidence.events = {failed_event("n1", "n1: preparation failed"),
                       failed_event("n1", "n1: preparation failed"),
                       failed_event("n2", "n2: preparation failed")};
    evidence.result = job::JobResult{100, 200, 1, "n2: preparation failed"};
    const auto execution = judge(evidence);
    BOOST_REQUIRE(execution.errors.size() == 2);
    BOOST_TEST(execution.errors[0].message == "n1: preparation failed");
    BOOST_TEST(execution.errors[0].node == "n1");
    BOOST_TEST(execution.errors[1].code == "JobPreparationFailed");
}

BOOST_AUTO_TEST_CASE(survives_slurms_memory) {
    Evidence evidence;
    evidence.result = job::JobResult{100, 200, 0, ""};
    BOOST_TEST(state_of(evidence) == "succeeded");
    BOOST_TEST(*judge(evidence).end_time == 200.0);
    evidence.result->exit_code = 3;
    BOOST_TEST(state_of(evidence) == "failed");
    BOOST_TEST(*judge(evidence).exit_code == 3);
    evidence.terminating = true;
    BOOST_TEST(judge(evidence).errors.at(0).code == "JobTerminated");
    BOOST_TEST(!judge(evidence).exit_code);
}

BOOST_AUTO_TEST_CASE(a_job_that_slurm_does_not_know_has_failed_with_a_reason) {
    const auto execution = judge(Evidence{});
    BOOST_TEST(state_name(execution.state) == "failed");
    BOOST_TEST(execution.errors.at(0).message.find("no longer knows") != std::string::npos);
    Evidence with_event;
    with_event.events = {failed_event("n1", "n1: why")};
    BOOST_REQUIRE(judge(with_event).errors.size() == 1);
    BOOST_TEST(judge(with_event).errors[0].message == "n1: why");
}

BOOST_AUTO_TEST_CASE(a_local_job_has_the_state_of_its_launcher) {
    Evidence evidence;
    evidence.local = true;
    evidence.local_alive = true;
    BOOST_TEST(state_of(evidence) == "running");
    evidence.local_alive = false;
    BOOST_TEST(state_of(evidence) == "failed");
    evidence.result = job::JobResult{1, 2, 0, ""};
    BOOST_TEST(state_of(evidence) == "succeeded");
}

BOOST_AUTO_TEST_CASE(state_names_go_both_ways) {
    for (const State state :
         {State::queued, State::running, State::terminating, State::succeeded, State::failed})
        BOOST_TEST(state_from_name(state_name(state)) == state);
    BOOST_TEST(!state_from_name("nonsense"));
}

BOOST_AUTO_TEST_CASE(the_launchers_failure_has_its_node) {
    Evidence evidence;
    evidence.slurm = slurm::Job{"FAILED", "mini", 1, 2, 3, "None"};
    evidence.result = job::JobResult{1, 2, 3, "rank 0 on n2 exited with code 3", "n2", "  tail\n"};
    job::Event event;
    event.kind = job::Event::Kind::failed;
    event.node = job::kNoNode;
    event.message = evidence.result->failure;
    evidence.events = {event};
    const Execution execution = judge(evidence);
    BOOST_REQUIRE(execution.errors.size() == 1);
    BOOST_TEST(execution.errors[0].node == "n2");
    BOOST_REQUIRE(execution.slurm);
    BOOST_TEST(execution.slurm->partition == "mini");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli
