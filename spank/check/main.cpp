// SPDX-License-Identifier: Apache-2.0
//
// batchai-check: checks the plugin's options before a submission. sbatch, salloc and srun run it on
// the login node, as the user. It prints three lines: the job file's snapshot, the output directory
// and the job's comment. A line is empty if there is none.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "job/check.hpp"
#include "job/layout.hpp"
#include "job/names.hpp"
#include "job/plan.hpp"
#include "job/policy.hpp"
#include "job/snapshot.hpp"
#include "job/spec.hpp"
#include "slurm/nodes.hpp"
#include "spank/check/submission.hpp"
#include "spank/helper/command_line.hpp"
#include "spank/helper/exit_code.hpp"
#include "sys/directories.hpp"
#include "sys/file.hpp"
#include "sys/text.hpp"
#include "sys/users.hpp"

namespace {

using namespace batchai;  // NOLINT: one short program

struct Arguments {
    std::string policy;
    std::string job;
    std::string mounts;
    std::string output;
};

void say(const std::string& line) {
    std::fprintf(stderr, "batchai: %s\n", sys::printable(line).c_str());
}

// Makes the job's name from its file's name: replaces characters that a name must not have by '_',
// and cuts a long name.
std::string job_name(const std::string& file) {
    std::string name = std::filesystem::path(file).stem();
    for (char& c : name)
        if (!job::is_object_name(std::string("x") + c)) c = '_';
    name.resize(std::min(name.size(), job::kObjectNameMaximum));
    return job::is_object_name(name) ? name : "job";
}

// Returns the absolute path; nullopt after an error, which it has printed.
std::optional<std::string> absolute_path(const char* option, const std::string& path) {
    std::error_code error;
    const auto absolute = std::filesystem::absolute(path, error);
    if (!error) return absolute.lexically_normal();
    say(std::string(option) + ": " + path + ": the current directory: " + error.message());
    return std::nullopt;
}

// Prints the job's output directory as this machine sees it, or else as the job file names it.
void say_output(const job::JobSpec& spec, const job::SitePolicy& policy,
                const job::Identity& identity) {
    const auto directory = job::login_stdouterr_directory(spec, policy, identity);
    say("the job's output: " + (directory ? *directory
                                          : spec.std_out_err_path_prefix + "/" +
                                                job::output_segment(identity) + "/stdouterr"));
}

// The answer about a job file. snapshot is empty after errors, which are printed.
struct CheckedFile {
    std::string snapshot;
    std::string comment;  // empty: the job has another one already
};

CheckedFile check_job_file(const std::string& file, const std::string& mounts,
                           const job::SitePolicy& policy) {
    const auto text = sys::read_file(file, job::kMaxJobBytes);
    if (!text) {
        say("--batchai-job: " + text.error().message);
        return {};
    }
    job::CheckOptions options;
    if (const auto nodes = slurm::count_nodes()) options.cluster_nodes = static_cast<int>(*nodes);
    options.file_exists = sys::is_regular_file;
    options.is_missing = sys::is_missing;
    options.writable = sys::check_writable;
    options.user = sys::own_names();
    job::Identity identity;
    identity.name = job_name(file);
    options.identity = identity;
    if (const auto added = job::parse_mounts(mounts, policy); added)
        for (const job::Mount& mount : *added) options.mounted.push_back(mount.target);
    auto parsed = job::check_job(*text, file, policy, options);
    const bool is_snapshot = parsed.spec && parsed.spec->identity;
    if (!is_snapshot) job::leave_out_known_notes(parsed.findings);
    for (const auto& finding : parsed.findings) {
        const bool note = finding.severity == job::Finding::Severity::note;
        if (!note || !is_snapshot)
            say(finding.text());  // `batchai job create` has printed the notes
    }
    if (!parsed.spec) return {};
    const auto submission = spank::parent_submission();
    const auto& asked = submission.nodes;
    const int wanted = parsed.spec->node_count;
    if (asked && (wanted < asked->least || wanted > asked->most)) {
        say(file + ": properties.nodeCount is " + std::to_string(wanted) +
            ", but the submission asks for " + asked->text + " (-N): submit with -N " +
            std::to_string(wanted));
        return {};
    }
    if (is_snapshot) identity = *parsed.spec->identity;
    const auto path = absolute_path("--batchai-job", file);
    if (!path) return {};
    if (submission.is_test) return {*path, ""};  // a test makes no record
    auto snapshot = job::write_snapshot(parsed, *path, identity, "");
    if (!snapshot) {
        say("--batchai-job: " + snapshot.error().message);
        return {};
    }
    if (*snapshot == *path) return {*snapshot, ""};  // submitted by `batchai job create`
    const auto record = std::filesystem::path(*snapshot).parent_path();
    identity.uuid = record.filename();
    const std::string comment = job::comment_of(identity);
    if (submission.is_sbatch)
        (void)sys::write_file(record / job::kSubmittingFile, "", 0600);  // then known at its start
    if (submission.is_sbatch && !is_snapshot) {
        if (submission.is_array) identity.uuid += "-TASK";
        say_output(*parsed.spec, policy, identity);
    }
    return {*snapshot, comment};
}

bool has_line_end(const std::string& text) {
    return text.find_first_of("\n\r") != std::string::npos;
}

int check(const Arguments& arguments) {
    if (has_line_end(arguments.job) || has_line_end(arguments.mounts) ||
        has_line_end(arguments.output)) {
        say("a --batchai-* option has a line end in it");
        return spank::kFailure;
    }
    const auto policy = job::load_policy(arguments.policy);
    if (!policy) {
        say(policy.error().message);
        return spank::kFailure;
    }
    bool good = true;
    if (!arguments.mounts.empty()) {
        const auto mounts = job::parse_mounts(arguments.mounts, *policy);
        if (!mounts) {
            say("--batchai-mount: " + mounts.error().message);
            good = false;
        }
    }
    std::string output;
    if (!arguments.output.empty()) {
        const auto path = absolute_path("--batchai-output", arguments.output);
        good = good && path;
        output = path.value_or("");
        if (has_line_end(output)) {
            say("--batchai-output: the current directory has a line end in its name");
            good = false;
        }
    }
    CheckedFile file;
    if (!arguments.job.empty()) {
        file = check_job_file(arguments.job, arguments.mounts, *policy);
        good = good && !file.snapshot.empty();
    }
    if (!good) return spank::kFailure;
    std::printf("%s\n%s\n%s\n", file.snapshot.c_str(), output.c_str(), file.comment.c_str());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    spank::CommandLine app("batchai-check",
                           "Checks the --batchai-* options of a submission. Run by the Slurm "
                           "plugin.",
                           "a line per error");
    Arguments arguments;
    app.add_option("--policy", arguments.policy, "the site policy");
    app.require("--policy");
    app.add_option("--job", arguments.job, "a job file");
    app.add_option("--mount", arguments.mounts, "SOURCE:TARGET[:OPTIONS][,...]");
    app.add_option("--output", arguments.output, "directory of the preparation's logs");
    if (const auto code = app.parse(argc, argv)) return *code;
    return check(arguments);
}
