// SPDX-License-Identifier: Apache-2.0
//
// job run --local: runs the job file on this machine alone, without Slurm, in the foreground. It
// has the same checks and output files, and keeps a record, so job show, list and file work on it.
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "cli/command_options.hpp"
#include "cli/job/job_input.hpp"
#include "cli/job/records.hpp"
#include "cli/policy/policy_entries.hpp"
#include "cli/programs.hpp"
#include "cli/verbs.hpp"
#include "job/document.hpp"
#include "job/layout.hpp"
#include "sys/file.hpp"
#include "sys/paths.hpp"

namespace batchai::cli {
namespace {

namespace fs = std::filesystem;

struct RunArgs {
    JobInput input;
    std::vector<std::string> shares;
    std::vector<std::string> images;
    int local = 0;  // nodes; 0: as many as the file asks for
};

// The policy: entries for --share and --image, then the site's. Without a site policy, there are
// only these entries. If BATCHAI_POLICY names a policy, the file must exist.
struct OwnPolicy {
    std::string text;  // empty: the site's policy without changes
    job::SitePolicy policy;
};
sys::Result<OwnPolicy> own_policy(const RunArgs& args, const job::ParsedJob& job) {
    const std::string file = job::default_policy_file();
    const bool has_site = sys::is_regular_file(file) || std::getenv("BATCHAI_POLICY") != nullptr;
    if (args.shares.empty() && args.images.empty() && has_site) {
        auto policy = load_site_policy();
        if (!policy) return policy.error();
        return OwnPolicy{"", *std::move(policy)};
    }
    const auto assignments = read_assignments(args.shares, args.images);
    if (!assignments) return assignments.error();
    OwnPolicy own;
    own.text = "# Of batchai job run --local\n";
    if (job.spec)  // if not, the check of the job file reports why
        for (const auto& entry : assigned_entries(*job.spec, *assignments)) own.text += entry;
    if (const auto site = sys::read_file(file, job::kMaxJobBytes)) own.text += *site;
    auto parsed = job::parse_policy(own.text, file);
    if (!parsed.policy) return sys::Error{parsed.findings.front().text()};
    own.policy = *std::move(parsed.policy);
    own.policy.file = file;
    return own;
}

// Makes the path of a script absolute if the script lies beside the job file. In the service, and
// under Slurm, a relative path starts at the job's own working directory.
void find_scripts_beside(job::Json& root, const std::string& file) {
    for (auto& settings : root["properties"]) {
        if (!settings.is_object() || !settings.contains("pythonScriptFilePath")) continue;
        auto& script = settings["pythonScriptFilePath"];
        if (!script.is_string() || script.get<std::string>().starts_with("/")) continue;
        std::error_code none;
        const auto beside = fs::absolute(file).parent_path() / script.get<std::string>();
        if (!fs::is_regular_file(beside, none)) continue;
        script = beside.lexically_normal().string();
    }
}

int run_locally(RunArgs args) {
    auto file = read_job_file(args.input.config_file);
    if (!file) return fail(kBadInput, file.error());
    const auto own = own_policy(args, *file);
    if (!own) return fail(kEnvironment, own.error());
    if (auto right = complete_launch(args.input.launch, own->policy, false); !right)
        return fail(kBadInput, right.error());
    auto store = open_store();
    if (!store) return fail(kEnvironment, store.error());
    const std::string launcher = sys::sibling_program("batchai-launch");
    if (launcher.empty()) return fail(kEnvironment, "batchai-launch: not found beside batchai");
    const auto nodes = args.local > 0 ? std::optional<int>(args.local) : std::nullopt;
    // --share has no effect on volumes of options, which are added to the document now.
    const bool can_be_assigned = !missing_entries(own->policy, *file).empty();
    const auto job = check_input(*file, args.input, own->policy, nodes);
    if (!job) {
        if (can_be_assigned)
            note(
                "give a missing share a directory with --share NAME=DIRECTORY, and a missing image "
                "--image NAME=host");
        return kBadInput;
    }
    find_scripts_beside(job->file.document->root(), args.input.config_file);
    auto started = take_name(*store, args.input, *job, true);
    if (!started) return fail(kFailed, started.error());
    const std::string uuid = started->row.identity.uuid;
    const auto failed = [&](const sys::Error& error) {
        give_up(*store, *std::move(started));
        return fail(kFailed, error);
    };
    if (auto done = remember_scope(store->history, args.input.scope); !done)
        return failed(done.error());
    if (!own->text.empty()) {
        // The record keeps it, because job file list needs it to find the outputs.
        const std::string policy = job_policy_file(*store, uuid);
        if (auto done = sys::write_file(policy, own->text, 0600); !done)
            return failed(done.error());
        ::setenv("BATCHAI_POLICY", policy.c_str(), 1);
    }
    if (const auto output =
            job::login_stdouterr_directory(job->spec(), own->policy, started->row.identity))
        note("job " + args.input.name + ": output in " + *output);
    std::vector<std::string> command{launcher, "--local",
                                     std::to_string(nodes.value_or(job->spec().node_count)),
                                     "--job", store->snapshot(uuid)};
    const auto launch = job::arguments_of(args.input.launch);
    command.insert(command.end(), launch.begin(), launch.end());
    const auto code = run_foreground(command);
    return code ? *code : failed(code.error());
}

}  // namespace

void add_job_run(CLI::App& parent, Session& session) {
    CLI::App* verb =
        add_verb(parent, session, "run", "run a job file in the foreground, without Slurm",
                 "batchai job run --local -n train -f job.json");
    const auto args = std::make_shared<RunArgs>();
    add_job_input(*verb, args->input);
    args->input.brings_scripts = true;
    verb->get_option("--config-file")->required();
    verb->add_option("--local", args->local,
                     "on this machine alone, as NODES nodes (left out: the file's nodeCount)")
        ->expected(0, 1)
        ->type_name("[NODES]")
        ->check(CLI::Range(1, 1024))
        ->required();
    add_launch_options(*verb, args->input.launch, false);
    add_assignment_options(*verb, args->shares, args->images);
    ignore_options(*verb, {"-c,--cluster"});
    set_action(*verb, session, args, run_locally);
}

}  // namespace batchai::cli
