// SPDX-License-Identifier: Apache-2.0
//
// job run --local: the job file on this machine alone, without Slurm, in the foreground. Same
// checks, same output files; the record is kept, so that job show, list and file work on it.
#include <memory>

#include "job/layout.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/job/job_input.hpp"
#include "launcher/cli/slurm/external.hpp"
#include "launcher/cli/verbs.hpp"
#include "launcher/common/paths.hpp"

namespace batchai::cli {
namespace {

struct RunArgs {
    JobInput input;
    int local = 0;  // nodes; 0: as many as the file asks for
};

int run(const RunArgs& args) {
    const auto policy = load_site_policy();
    if (!policy) return fail(kEnvironment, policy.error());
    auto store = open_store();
    if (!store) return fail(kEnvironment, store.error());
    const std::string launcher = launcher::sibling_program("batchai-launch");
    if (launcher.empty()) return fail(kEnvironment, "batchai-launch: not found beside batchai");
    const auto nodes = args.local > 0 ? std::optional<int>(args.local) : std::nullopt;
    const auto job = check_input(args.input, *policy, nodes);
    if (!job) return kBadInput;
    const auto started = take_name(*store, args.input, *job, true);
    if (!started) return fail(kFailed, started.error());
    if (const auto output =
            job::login_stdouterr_directory(job->spec, *policy, started->row.identity))
        note("job " + args.input.name + ": output in " + *output);
    const std::string snapshot = store->snapshot(started->row.identity.uuid);
    const auto code =
        run_foreground({launcher, "--local", std::to_string(nodes.value_or(job->spec.node_count)),
                        "--job", snapshot});
    if (!code) return fail(kFailed, code.error());
    return *code;
}

}  // namespace

void add_job_run(CLI::App& parent, Session& session) {
    CLI::App* verb =
        add_verb(parent, session, "run", "run a job file in the foreground, without Slurm",
                 "batchai job run --local -n train -f job.json");
    const auto args = std::make_shared<RunArgs>();
    add_job_input(*verb, args->input);
    verb->add_option("--local", args->local,
                     "on this machine alone, as NODES nodes (left out: the file's nodeCount)")
        ->expected(0, 1)
        ->type_name("[NODES]")
        ->check(CLI::Range(1, 1024))
        ->required();
    ignore_options(*verb, {"-c,--cluster"});
    verb->callback([args, &session] { session.action = [args] { return run(*args); }; });
}

}  // namespace batchai::cli
