// SPDX-License-Identifier: Apache-2.0
//
// job create: checks a job file, makes its snapshot and submits it with sbatch.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "cli/command_options.hpp"
#include "cli/job/clusters.hpp"
#include "cli/job/job_input.hpp"
#include "cli/job/job_state.hpp"
#include "cli/job/job_wait.hpp"
#include "cli/job/mounts.hpp"
#include "cli/job/records.hpp"
#include "cli/policy/policy_entries.hpp"
#include "cli/verbs.hpp"
#include "job/container.hpp"
#include "job/duration.hpp"
#include "job/layout.hpp"
#include "job/record.hpp"
#include "job/snapshot.hpp"
#include "job/volumes.hpp"
#include "slurm/nodes.hpp"
#include "slurm/submit.hpp"
#include "sys/file.hpp"
#include "sys/paths.hpp"
#include "sys/shell.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

struct CreateArgs {
    JobInput input;
    std::string partition;
    std::vector<std::string> named;         // --account and other options that sbatch has too
    std::vector<std::string> after_dashes;  // the user's options for sbatch, after "--"
    std::string old_cluster;                // -r; then -c names the job file
    bool without_plugin = false;
    bool dry_run = false;
    bool wait = false;
};

// maxWallClockTime, or the partition's limit if that is shorter. Slurm would not start a longer
// job.
long allowed_time(const CheckedJob& job, const slurm::Partition& partition) {
    const long wanted = *job.spec().time_limit;
    const long allowed = partition.time_limit.value_or(wanted);
    if (wanted <= allowed) return wanted;
    note(
        fmt::format("properties.constraints.maxWallClockTime: {} is above the limit of partition "
                    "{}: the job gets {}",
                    job::slurm_time(wanted), partition.name, job::slurm_time(allowed)));
    return allowed;
}

// Whether words contain an option of sbatch, in any form that sbatch reads: "--time=5", "--time",
// an unambiguous prefix such as "--tim", "-t", "-t5". letter: the short form, "" if there is none.
bool gives(const std::vector<std::string>& words, const std::string& name,
           const std::string& letter) {
    constexpr std::size_t kShortest = 4;  // "--ti"
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
        if (!word.starts_with("--")) return !letter.empty() && word.starts_with(letter);
        const std::string option = word.substr(0, word.find('='));
        return option.size() >= kShortest && name.starts_with(option);
    });
}

// Refuses words that are not options, and job arrays.
sys::Result<void> check_words(const std::vector<std::string>& words) {
    if (!words.empty() && !words.front().starts_with('-'))
        return sys::Error{"'" + words.front() +
                          "': unexpected word: options of sbatch come after '--'"};
    if (gives(words, "--array", "-a"))
        return sys::Error{
            "--array: a job of 'batchai job create' is one job: submit an array "
            "with 'sbatch --array=... --batchai-job=FILE'"};
    return {};
}

// The submission, without the snapshot's path.
sys::Result<slurm::Submission> plan(const CreateArgs& args, const job::SitePolicy& policy,
                                    const CheckedJob& job, const ClusterBinding& cluster,
                                    const slurm::Partition& partition) {
    const std::string launcher = sys::sibling_program("batchai-launch");
    if (launcher.empty()) return sys::Error{"batchai-launch: not found beside batchai"};
    slurm::Submission submission;
    submission.job_name = args.input.name;
    submission.nodes = job.spec().node_count;
    submission.partition = cluster.partition;
    submission.gres = cluster.gres;
    submission.launcher = launcher;
    submission.launch_arguments = job::arguments_of(args.input.launch);
    submission.without_plugin = args.without_plugin;
    submission.job_file = args.input.config_file;
    std::error_code gone;
    if (args.without_plugin)
        submission.job_file = std::filesystem::absolute(submission.job_file, gone);
    submission.exclusive = policy.exclusive;
    std::vector<std::string> given = args.named;
    given.insert(given.end(), args.after_dashes.begin(), args.after_dashes.end());
    if (args.input.launch.contains(job::kRequeueOn.name))
        submission.pass_through.emplace_back("--requeue");
    const std::string priority = job::priority_option(policy, job.spec().priority);
    if (!priority.empty() && !gives(given, "--nice", "") && !gives(given, "--qos", "-q") &&
        std::getenv("SBATCH_QOS") == nullptr)
        submission.pass_through.push_back(priority);
    // With AccountingStoreFlags=job_comment, Slurm's accounting keeps the comment.
    if (!gives(given, "--comment", "")) submission.comment = job::comment_of(args.input.identity());
    // SBATCH_TIMELIMIT is the user's choice too.
    if (job.spec().time_limit && !gives(given, "--time", "-t") &&
        std::getenv("SBATCH_TIMELIMIT") == nullptr)
        submission.pass_through.push_back("--time=" +
                                          job::slurm_time(allowed_time(job, partition)));
    // The user's options come last, because sbatch takes the last one of two.
    submission.pass_through.insert(submission.pass_through.end(), given.begin(), given.end());
    return submission;
}

// What batchai-launch --without-plugin would refuse when the job starts.
sys::Result<void> check_without_plugin(const job::JobSpec& spec, const job::SitePolicy& policy) {
    for (const job::Volume& volume : spec.volumes)
        if (auto bound = job::bound_directory(policy, volume); !bound) return bound.error();
    for (const job::Variable& secret : spec.secrets) {
        if (!secret.reference) continue;
        if (auto own = job::own_secret_file(policy, secret); !own) return own.error();
    }
    const auto image = job::resolve_image(policy, spec);
    return image ? job::check_unmounted_container(*image, spec.node_count) : image.error();
}

int show_command(const slurm::Submission& submission) {
    std::string line = "sbatch ";
    for (const auto& argument : slurm::sbatch_arguments(submission))
        line += sys::shell_quoted(argument) + " ";
    fmt::print("{}<<'END'\n{}END\n", line, slurm::batch_script(submission));
    return kOk;
}

// For a person: the submitted job, and the commands to follow it.
void say_submitted(const CreateArgs& args, const JobRow& row, const CheckedJob& job,
                   const job::SitePolicy& policy, const slurm::Submission& submission) {
    const auto& identity = row.identity;
    std::string which;
    for (const auto& [option, name] : {std::pair{"-g", identity.resource_group},
                                       {"-w", identity.workspace},
                                       {"-e", identity.experiment}})
        if (name != "default") which += fmt::format("{} {} ", option, sys::shell_quoted(name));
    std::string text =
        fmt::format("Job {} is Slurm's job {}: {}{}\n", identity.name, row.number.text(),
                    sys::plural(job.spec().node_count, "node"),
                    submission.partition.empty() ? "" : " of partition " + submission.partition);
    if (const auto output = job::login_stdouterr_directory(job.spec(), policy, identity))
        text += fmt::format("Output:  {}\n", *output);
    text += fmt::format("List:    batchai job file list {}-j {} -o table\n", which, identity.name);
    if (!args.wait)
        text += fmt::format("Wait:    batchai job wait {}-n {}\n", which, identity.name);
    fmt::print("{}", sys::printable_lines(text));
    std::fflush(stdout);
}

int submit_job(const Session& session, Store store, const CreateArgs& args, const CheckedJob& job,
               const job::SitePolicy& policy, slurm::Submission submission) {
    auto taken = take_name(store, args.input, job, false);
    if (!taken) return fail(kFailed, taken.error());
    JobRow row = taken->row;
    const std::string record = store.record(row.identity.uuid);
    submission.job_file = store.snapshot(row.identity.uuid);
    submission.output = record + "/slurm-%j.out";
    // If this process is killed after sbatch, the mark and the comment's uuid lead to the number.
    if (!submission.comment.empty()) submission.comment = job::comment_of(row.identity);
    const std::string mark = record + "/" + job::kSubmittingFile;
    if (auto marked = sys::write_file(mark, "", 0600); !marked) {
        give_up(store, *std::move(taken));
        return fail(kFailed, marked.error());
    }
    const auto id = slurm::submit(submission);
    if (!id) {
        give_up(store, *std::move(taken));
        return fail(
            id.error().message.find("plugstack.conf") != std::string::npos ? kEnvironment : kFailed,
            id.error());
    }
    row.number = job::Number::of_job(*id);
    auto noted = store.history.set_numbers({&row});
    if (noted) noted = remember_scope(store.history, args.input.scope);
    if (noted) noted = job::write_number(record, row.number);
    if (noted) ::unlink(mark.c_str());
    if (!noted)
        return fail(kFailed, noted.error().in(fmt::format("job {} was submitted, but", *id)));
    if (session.wants_words()) {
        say_submitted(args, row, job, policy, submission);
    } else {
        const int code = session.print(describe(store, row, Execution{}), [&](const auto&) {
            return job_table({line_of(store, row, Execution{})});
        });
        if (code != kOk) return code;
    }
    if (!args.wait) return kOk;
    NamedJob named{std::move(store), row};
    return wait_for_job(named, kWaitInterval);
}

sys::Result<void> is_known(const job::SitePolicy& policy, job::Volume volume,
                           const std::string& account) {
    if (volume.account.empty()) volume.account = account;
    if (const auto found = job::resolve_volume(policy, volume); !found) return found.error();
    return {};
}

// Leaves out the cluster's volumes that the site policy does not allow, and notes each.
nlohmann::json allowed_volumes(const CreateArgs& args, const job::SitePolicy& policy,
                               const nlohmann::json& volumes) {
    if (!volumes.is_object()) return nullptr;
    nlohmann::json allowed = nlohmann::json::object();
    for (const auto& [list, items] : volumes.items()) {
        if (!items.is_array()) continue;
        for (const auto& item : items) {
            const auto read = job::read_volumes({{list, nlohmann::json::array({item})}});
            if (read && read->empty()) continue;  // a comment, or a list that batchai ignores
            const auto usable = read ? is_known(policy, read->front(), args.input.storage.name)
                                     : sys::Result<void>(read.error());
            if (usable)
                allowed[list].push_back(item);
            else
                note("cluster " + args.input.cluster +
                     ": one of its volumes is left out: " + usable.error().message);
        }
    }
    return allowed;
}

// In az's first releases -c named the job file and -r the cluster. Then there is no -f, and -c is
// given once. Without -r, -c is the job file if it cannot be the name of a cluster.
void heed_old_options(CreateArgs& args, std::size_t times) {
    const bool is_file = !args.old_cluster.empty() || !is_name(args.input.cluster);
    if (args.input.config_file.empty() && is_file && times == 1) {
        args.input.config_file = args.input.cluster;
        args.input.cluster.clear();
    }
    if (!args.old_cluster.empty()) args.input.cluster = args.old_cluster;
}

int run(const Session& session, CreateArgs args) {
    if (auto right = check_words(args.after_dashes); !right) return fail(kBadInput, right.error());
    const bool is_files = args.input.cluster.empty() && args.partition.empty();
    auto file = read_job_file(args.input.config_file);
    if (!file) return fail(kBadInput, file.error());  // the user's mistake before the site's
    if (is_files && file->spec) args.input.cluster = file->spec->cluster;
    const auto policy = load_site_policy();
    if (!policy) return fail(kEnvironment, policy.error());
    const bool may_requeue = !gives(args.after_dashes, "--no-requeue", "") &&
                             std::getenv("SBATCH_NO_REQUEUE") == nullptr;
    if (auto right = complete_launch(args.input.launch, *policy, may_requeue); !right)
        return fail(kBadInput, right.error());
    auto store = open_store();
    if (!store) return fail(kEnvironment, store.error());
    auto cluster = bind_cluster(store->history, *policy, job::cluster_of(args.input.identity()));
    if (!cluster) {
        fail(kBadInput, is_files ? "properties.cluster.id: " + cluster.error().message +
                                       ". Or choose another one with --cluster or --partition: "
                                       "the job file's does not count then"
                                 : cluster.error().message);
        print_missing_entries(*policy, {cluster_entry(args.input.cluster)});
        return kBadInput;
    }
    if (!args.partition.empty()) cluster->partition = args.partition;
    const auto partition = slurm::find_partition(cluster->partition);
    if (!partition) return fail(kEnvironment, partition.error());
    args.input.volumes = allowed_volumes(args, *policy, cluster->volumes);
    const auto job = check_input(*std::move(file), args.input, *policy,
                                 static_cast<int>(partition->nodes.size()));
    if (!job) return kBadInput;
    if (args.without_plugin)
        if (auto able = check_without_plugin(job->spec(), *policy); !able)
            return fail(kBadInput, able.error());
    auto submission = plan(args, *policy, *job, *cluster, *partition);
    if (!submission) return fail(kEnvironment, submission.error());
    if (args.dry_run) return show_command(*submission);
    return submit_job(session, *std::move(store), args, *job, *policy, *std::move(submission));
}

// Adds an option that is passed to sbatch unchanged.
void add_sbatch_option(CLI::App& verb, const std::shared_ptr<CreateArgs>& args,
                       const std::string& names, const std::string& option,
                       const std::string& description) {
    verb.add_option_function<std::string>(
            names,
            [args, option](const std::string& value) {
                args->named.push_back(option + "=" + value);
            },
            description)
        ->group("Passed on to sbatch");
}

}  // namespace

void add_job_create(CLI::App& parent, Session& session) {
    CLI::App* verb = add_verb(parent, session, "create", "check a job file and submit it",
                              "batchai job create -n train "
                              "-c nc6cluster -f job.json --storage-account-name mystorageaccount");
    const auto args = std::make_shared<CreateArgs>();
    add_job_input(*verb, args->input);
    const CLI::Validator cluster_id = id_in(args->input.cluster_scope);
    CLI::Option* const cluster =
        verb->add_option("-c,--cluster", args->input.cluster,
                         "cluster; left out: the job file's, else Slurm's default partition")
            ->transform(cluster_id);
    verb->add_option("-r,--cluster-name", args->old_cluster,
                     "cluster, as az had it first; then -c is the job file")
        ->transform(cluster_id);
    verb->add_option("--cluster-resource-group", args->input.cluster_scope.resource_group,
                     "the cluster's group, if it is another one than the job's")
        ->check(kGroupName);
    verb->add_flag("--wait", args->wait, "then wait for its end, as job wait does");
    verb->add_flag("--without-plugin", args->without_plugin,
                   "where Slurm has no batchai plugin: no mounts, volumes must be directories");
    verb->add_flag("--dry-run", args->dry_run, "check, print the sbatch command, submit nothing");
    verb->add_option("--partition", args->partition, "instead of the cluster's")
        ->group("Passed on to sbatch");
    add_launch_options(*verb, args->input.launch, true);
    add_sbatch_option(*verb, args, "-A,--account", "--account", "account");
    add_sbatch_option(*verb, args, "--qos", "--qos", "quality of service");
    add_sbatch_option(*verb, args, "--reservation", "--reservation", "reservation");
    add_sbatch_option(*verb, args, "--time", "--time", "time limit");
    verb->add_option("SBATCH_OPTION", args->after_dashes, "after --: as sbatch has it")
        ->take_all()
        ->group("Passed on to sbatch");
    verb->callback([args, cluster, &session] {
        heed_old_options(*args, cluster->count());
        if (args->input.config_file.empty()) throw CLI::RequiredError("--config-file");
        session.action = [args, &session] { return run(session, *args); };
    });
}

}  // namespace batchai::cli
