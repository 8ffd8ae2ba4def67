// SPDX-License-Identifier: Apache-2.0
//
// batchai-helper: the part of the plugin that needs root. Only slurmd and slurmstepd run it. It has
// no set-user-ID bit and gives no user any rights.
#include <sys/prctl.h>
#include <sys/stat.h>

#include <string>

#include "spank/helper/command_line.hpp"
#include "spank/helper/files.hpp"
#include "spank/helper/root/end.hpp"
#include "spank/helper/root/setup.hpp"
#include "spank/protocol.hpp"

int main(int argc, char** argv) {
    const mode_t users_umask = umask(022);  // Slurm has set it for the task
    prctl(PR_SET_DUMPABLE, 0);              // a core dump would contain passwords
    batchai::spank::CommandLine app(
        "batchai-helper",
        "Mounts a job's shares in a namespace of its own. Run by the Slurm plugin, not by hand.",
        "one line");
    std::string policy;
    std::string job;
    std::string counters;
    int seconds = batchai::spank::kEndSeconds;
    const auto take_policy = [&] {
        app.add_option("--policy", policy, "the site policy");
        app.require("--policy");
    };
    const auto take_counters = [&] {
        app.add_option("--counters", counters,
                       "a directory for batchai.prom, with counters for Prometheus; empty: none");
    };
    app.add_verb("setup", "set this node up for the job described on standard input");
    take_policy();
    take_counters();
    app.add_verb("teardown", "remove everything that a job has on this node");
    app.add_option("--seconds", seconds, "how long to wait for this; it goes on in the background");
    app.add_option("--job", job, "its directory's name below /run/batchai/jobs: CLUSTER-NUMBER");
    app.require("--job");
    app.check("--job", [](const std::string& name) {
        return batchai::spank::is_file_name(name)
                   ? ""
                   : "expected CLUSTER-NUMBER, a directory's name below /run/batchai/jobs";
    });
    take_counters();
    app.add_verb("try", "try each mount of the site policy and remove it again");
    take_policy();
    app.add_verb("sweep", "finish interrupted cleanups of jobs; show version and policy");
    take_policy();
    take_counters();
    app.add_verb("finish", "finish interrupted cleanups of jobs in the background");
    take_counters();
    if (const auto code = app.parse(argc, argv)) return *code;
    const std::string verb = app.verb();
    const batchai::spank::Counters node(counters);
    if (verb == "setup") return batchai::spank::set_up(policy, users_umask, node);
    if (verb == "try") return batchai::spank::try_policy(policy);
    if (verb == "teardown") return batchai::spank::tear_down(job, seconds, node);
    if (verb == "finish") {
        batchai::spank::finish_interrupted_ends(node);
        return 0;
    }
    return batchai::spank::sweep(policy, node);
}
