// SPDX-License-Identifier: Apache-2.0
//
// batchai-launch: starts the ranks of a job (docs/man/batchai-launch.1).
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "launcher/agent/agent.hpp"
#include "launcher/common/allocation.hpp"
#include "launcher/common/exit_code.hpp"
#include "launcher/common/limits.hpp"
#include "launcher/common/say.hpp"
#include "launcher/common/scratch.hpp"
#include "launcher/root/coordinator.hpp"
#include "launcher/root/job_file_run.hpp"
#include "launcher/root/options.hpp"
#include "launcher/root/restart.hpp"
#include "launcher/root/restart_state.hpp"
#include "launcher/root/viewers.hpp"
#include "sys/paths.hpp"

namespace batchai::launcher {
namespace {

int fail(const std::string& message) {
    say(message);
    return kOwnFailure;
}

// For ranks that may be restarted. record: the job file's; empty: none.
sys::Result<std::string> choose_restart_directory(const Options& options,
                                                  const Allocation& allocation,
                                                  const std::string& record) {
    const bool once = options.restarts.most == 0 && options.requeue.on.empty();
    if (once || options.settings.dry_run != DryRun::no) return std::string();
    env::Environment environment = env::current();
    env::scrub(environment);
    if (std::string own = env::value_of(environment, env::kRestartDirectory); !own.empty()) {
        return own;
    }
    const auto directory = sys::current_directory();
    if (!directory) return directory.error();
    std::string command = *directory + '\0' + options.job_file;
    for (const Program& program : options.programs)
        for (const std::string& word : program.argv) command += '\0' + word;
    return restart_directory(
        allocation, record.empty() ? *directory + "/batchai-restart." : record + "/restart.",
        command, settings_digest(options.arguments, environment));
}

// Warns about requests of the job to Slurm that its ranks do not get, unless an option replaces
// them.
void say_ignored(const Options& options, const Allocation& allocation) {
    if (!allocation.ignored_distribution.empty() && !options.order) {
        say(
            fmt::format("\"{}\" of the job's --distribution is ignored: see --map for the order "
                        "of the ranks and --bind for their cores",
                        allocation.ignored_distribution));
    }
    const slurm::GpuRequest& gpus = allocation.gpus;
    if (!options.job_file.empty()) {
        if (gpus.gpus_per_task > 1 || gpus.tasks_per_gpu > 1) {
            say("the job's --gpus-per-task and --ntasks-per-gpu are ignored: set the number of "
                "ranks with the job file's processCount");
        }
    } else if (gpus.gpus_per_task > 1 && !options.ranks && !options.ranks_per_node) {
        say(
            fmt::format("the job's --gpus-per-task={} is ignored, each rank gets one GPU: for more "
                        "set the number of ranks with -n",
                        gpus.gpus_per_task));
    }
}

// The nodes of the job. nodes: the number that --local plays if the user names none.
sys::Result<Allocation> choose_allocation(const Options& options, int nodes) {
    auto allocation = options.local
                          ? sys::Result(local_allocation(options.local_nodes.value_or(nodes)))
                          : find_allocation(env::current());
    if (!allocation) return allocation;
    if (auto able = check_requeue(options.requeue, *allocation); !able) return able.error();
    say_ignored(options, *allocation);
    return allocation;
}

int run_command(const Options& options) {
    const auto allocation = choose_allocation(options, 1);
    if (!allocation) return fail(allocation.error().message);
    auto restart_directory = choose_restart_directory(options, *allocation, {});
    if (!restart_directory) return fail(restart_directory.error().message);
    Session session;
    session.allocation = *allocation;
    session.settings = options.settings;
    session.restart_directory = *std::move(restart_directory);
    session.plan = [&options, &allocation](const std::vector<Hello>& nodes) -> sys::Result<Work> {
        const std::vector<NodeSize> sizes = sizes_of(nodes, allocation->tasks);
        const RankRequest request{options.ranks, options.ranks_per_node, false,
                                  options.order.value_or(allocation->order),
                                  allocation->gpus.tasks_per_gpu};
        auto map = make_map(sizes, request);
        if (!map) return map.error();
        if (!options.ranks && !options.ranks_per_node) {
            say(describe(*map, sizes, request.ranks_per_gpu));
        }
        Work work;
        work.map = *map;
        work.programs = options.programs;
        if (work.programs.size() == 1) work.programs.front().ranks = map->size();
        auto directory = sys::current_directory();
        if (!directory) return directory.error();
        work.directory = *std::move(directory);
        return work;
    };
    const SessionResult result = run_with_restarts(std::move(session), options.restarts);
    if (options.settings.dry_run == DryRun::no) requeue(options.requeue, *allocation, result.cause);
    return result.exit_code;
}

int run_job(const Options& options) {
    auto job = JobFileRun::load(
        options.job_file, options.policy_file,
        options.local || options.without_plugin ? Preparer::launcher : Preparer::plugin);
    if (!job) return fail(job.error().message);
    JobFileRun& run = **job;
    const auto allocation = choose_allocation(options, run.node_count());
    if (!allocation) return fail(allocation.error().message);
    auto restart_directory = choose_restart_directory(options, *allocation, run.record());
    if (!restart_directory) return fail(restart_directory.error().message);
    SessionResult result;
    if (auto ready = run.prepare(*allocation, options.settings.dry_run != DryRun::no); !ready) {
        result = {fail(ready.error().message),
                  "batchai-launch: " + ready.error().message,
                  Cause::other,
                  {}};
    } else {
        Session session = run.session(options.settings, options.order.value_or(allocation->order));
        session.restart_directory = *std::move(restart_directory);
        result = run_with_restarts(std::move(session), options.restarts);
    }
    if (options.settings.dry_run != DryRun::no) return result.exit_code;
    run.log_failure(result);
    if (!requeue(options.requeue, *allocation, result.cause)) run.finish(result);
    return result.exit_code;
}

int run(int argc, char** argv) {
    const auto parsed = parse_options(argc, argv);
    if (const int* code = std::get_if<int>(&parsed)) return *code;
    const auto& options = std::get<Options>(parsed);
    if (const auto able = check_machine(); !able) return fail(able.error().message);
    for (const std::string& setting : env::unheeded(env::current())) {
        say(setting +
            " in the environment has no effect: the PMIx servers of the agents choose this");
    }
    return options.job_file.empty() ? run_command(options) : run_job(options);
}

// If the caller has closed a standard stream, /dev/null takes its descriptor, so that no file
// opened later can get it.
void open_standard_streams() {
    while (true) {
        const int fd = ::open("/dev/null", O_RDWR);
        if (fd < 0) return;
        if (fd <= STDERR_FILENO) continue;
        ::close(fd);
        return;
    }
}

}  // namespace
}  // namespace batchai::launcher

int main(int argc, char** argv) {
    using namespace batchai::launcher;
    open_standard_streams();
    // The parent process may have ignored SIGCHLD, which exec keeps. The kernel would then reap our
    // children.
    ::signal(SIGCHLD, SIG_DFL);
    int code = 0;
    if (argc == 2 && std::string_view(argv[1]) == "--agent") {
        const auto able = check_machine();
        code = able ? agent_main() : fail(able.error().message);
    } else if (argc == 2 && std::string_view(argv[1]) == "--stand-in") {
        code = pmix::stand_in_main();
    } else if (argc == 3 && std::string_view(argv[1]) == "--attach") {
        code = attach(argv[2]);
    } else if (argc == 2 && std::string_view(argv[1]) == "--sweep") {
        // Slurm may still be killing the agents of this node.
        for (int tries = 0; tries < 30 && !sweep_scratch(); ++tries)
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
    } else {
        code = run(argc, argv);
    }
    if (std::fflush(stdout) != 0 && code == 0) {
        say("standard output: cannot be written");
        code = kPreparationFailed;
    }
    // A thread may be in read() on a standard input that never ends, so nothing waits for threads.
    std::_Exit(code);
}
