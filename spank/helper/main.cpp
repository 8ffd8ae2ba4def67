// SPDX-License-Identifier: Apache-2.0
//
// batchai-helper: the part of the plugin that needs root. Only slurmd and slurmstepd run it. It has
// no set-user-ID bit and gives no user any rights.
#include <sys/prctl.h>
#include <sys/stat.h>
#include <CLI/CLI.hpp>

#include "spank/helper/files.hpp"
#include "spank/helper/setup.hpp"
#include "spank/helper/trial.hpp"
#include "spank/helper/usage.hpp"

int main(int argc, char** argv) {
    const mode_t users_umask = umask(022);  // Slurm has set it for the task
    prctl(PR_SET_DUMPABLE, 0);              // a core dump would contain passwords
    CLI::App app(
        "Mounts a job's shares in a namespace of its own. Run by the Slurm plugin, not by hand.",
        "batchai-helper");
    app.footer("Exit status: 0; 1 after one line on standard error; 2 wrong usage.");
    app.set_version_flag("--version", BATCHAI_VERSION);
    app.require_subcommand(1);
    std::string policy;
    std::string job;
    std::string counters;
    auto* set_up =
        app.add_subcommand("setup", "set this node up for the job described on standard input");
    set_up->add_option("--policy", policy, "the site policy")->required();
    auto* tear_down =
        app.add_subcommand("teardown", "remove everything that a job has on this node");
    tear_down
        ->add_option("--job", job, "its directory's name below /run/batchai/jobs: CLUSTER-NUMBER")
        ->required()
        ->check([](const std::string& name) {
            return batchai::spank::is_file_name(name)
                       ? ""
                       : "expected CLUSTER-NUMBER, a directory's name below /run/batchai/jobs";
        });
    auto* attempt =
        app.add_subcommand("try", "try each mount of the site policy and remove it again");
    attempt->add_option("--policy", policy, "the site policy")->required();
    auto* sweep =
        app.add_subcommand("sweep", "finish interrupted cleanups of jobs; show version and policy");
    sweep->add_option("--policy", policy, "the site policy")->required();
    for (auto* verb : {set_up, tear_down, sweep})
        verb->add_option("--counters", counters,
                         "a directory for batchai.prom, with counters for Prometheus; empty: none");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return batchai::spank::explain_usage(app, error);
    }
    const batchai::spank::Counters node(counters);
    if (*set_up) return batchai::spank::set_up(policy, users_umask, node);
    if (*attempt) return batchai::spank::try_policy(policy);
    if (*tear_down) return batchai::spank::tear_down(job, node);
    return batchai::spank::sweep(policy, node);
}
