// SPDX-License-Identifier: Apache-2.0
//
// `batchai-helper setup`. The plugin runs it as root for the first task of a job on a node. Later
// tasks find the state and need no helper.
#include "spank/helper/root/setup.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <optional>
#include <sstream>

#include "job/container.hpp"
#include "job/layout.hpp"
#include "job/record.hpp"
#include "job/size.hpp"
#include "spank/helper/exit_code.hpp"
#include "spank/helper/root/end.hpp"
#include "spank/helper/root/mount.hpp"
#include "spank/helper/root/namespace.hpp"
#include "spank/helper/root/submission.hpp"
#include "spank/helper/root/trusted_policy.hpp"
#include "spank/helper/user/node_plan.hpp"
#include "spank/protocol.hpp"
#include "sys/clock.hpp"
#include "sys/directories.hpp"
#include "sys/file.hpp"
#include "sys/mount_table.hpp"
#include "sys/private_file.hpp"
#include "sys/text.hpp"
#include "sys/trusted.hpp"
#include "sys/users.hpp"

namespace batchai::spank {
namespace {

constexpr int kUserSeconds = 30;
// Time limit for removing what an earlier run of the job has left.
constexpr int kLeftoverSeconds = 10;
constexpr std::size_t kRequestMaximum = 1024 * 1024;
// open_sources() also sends the job's temporary directory.
static_assert(job::kMostMounts + 1 <= kMaximumFiles);

sys::Result<std::string> make_secret() {
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) return sys::errno_error("getrandom");
    return fmt::format("{:016x}", number);
}

class Setup {
  public:
    // No submission: the witness is an extern step.
    Setup(const Request& request, const JobDirectory& directory, const std::string& policy_file,
          const Witness& witness, std::optional<SubmissionTime>& submission)
        : request_(request),
          directory_(directory),
          policy_file_(policy_file),
          witness_(witness),
          submission_(submission) {}

    // Does the whole set-up. It writes the state in any case.
    sys::Result<void> run(const Counters& counters) {
        auto done = run();
        if (done)
            counters.add({{Counter::set_up, 1}, {Counter::mounts, plan_.mounts.size()}});
        else
            counters.add({{Counter::set_up_failed, 1}, {Counter::mounts_failed, failed_mounts_}});
        return done;
    }

  private:
    sys::Result<void> run() {
        // The namespace before this one, which has the state and the pin.
        const sys::UniqueFd home(open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
        auto done = set_up(home.get());
        if (!home || setns(home.get(), CLONE_NEWNS) != 0) done = sys::errno_error("setns");
        if (submission_) {
            // slurmctld answers in the background meanwhile.
            const auto submitted = submission_->wait();
            if (submitted)
                submitted_ = *submitted;
            else if (done)
                done = submitted.error();
        }
        if (done) done = write_state("ready", "");
        if (done) return note_witness(directory_, witness_);
        end_namespace(directory_, 0);
        const std::string line =
            sys::printable(done.error().in("batchai: " + request_.node).message);
        report(line);
        // The line is printed in any case. Without a state the next step tries again.
        (void)(write_state("failed", line) && note_witness(directory_, witness_));
        return done.error();
    }

    sys::Result<void> set_up(int home) {
        auto policy = load_trusted_policy(policy_file_);
        if (!policy) return policy.error();
        policy_ = *std::move(policy);
        if (auto planned = plan(); !planned) return planned;
        if (!plan_.failure.empty()) return sys::Error{plan_.failure};
        if (auto read = read_secrets(); !read) return read;
        // If we are killed after this point, cleanup needs this state.
        if (auto noted = write_state("running", ""); !noted) return noted;
        // Make the start directory of a job file's processes here too: Slurm changes to a step's
        // directory before the step has the job's mounts.
        const std::string working =
            fmt::format("{}/{}/{}", policy_.mount_root, job::kTemporary, job::kWorking);
        if (auto made = sys::open_trusted(working, {.flags = O_PATH | O_DIRECTORY, .makes = true});
            !made)
            return made.error().in("site policy: paths.mount_root");
        const auto table = sys::MountTable::read();
        if (!table) return table.error();
        const sys::MountEntry* const at = table->at(policy_.mount_root);
        in_place_ = request_.in_place && !(at != nullptr && at->shared);
        if (!in_place_)
            if (auto made = create_pinned_namespace(directory_); !made) return made;
        auto opened = as_user(
            request_.user, std::min(kUserSeconds, policy_.mount_timeout),
            [this] { return make_job_temp(); }, source_names(plan_.mounts, policy_));
        if (!opened) return opened.error();
        if (opened->files.empty())
            return sys::Error{"the job's temporary directory was not opened"};
        const sys::UniqueFd temporary = std::move(opened->files.back());
        opened->files.pop_back();
        const auto sources = sources_of(*std::move(opened));
        if (!sources) return sources.error();
        const FuseHost fuse{directory_, home, job_temp_, temporary.get()};
        if (auto made =
                make_mounts(plan_.mounts, *sources, policy_, request_.user, &fuse, temporary.get());
            !made) {
            failed_mounts_ = 1;
            return made;
        }
        auto finished = as_user(request_.user, kUserSeconds, [this] { return make_user_files(); });
        if (!finished) return finished.error();
        return directory_.touch(kPreparationFile);
    }

    sys::Result<void> plan() {
        auto answer = as_user(request_.user, kUserSeconds, [this]() -> sys::Result<Answer> {
            auto made = make_node_plan(request_, policy_);
            if (!made) return made.error();
            return Answer{to_bytes(*made), {}};
        });
        if (!answer) return answer.error();
        auto taken = node_plan_from_bytes(answer->text);
        if (!taken) return taken.error();
        plan_ = *std::move(taken);
        job_temp_ = job_temp(request_, policy_);
        return plan_.image.empty() ? sys::Result<void>() : contain();
    }

    // A process with the user's rights reads the user's own files, because they may be on a dead
    // server. Only the users of an entry get the site's.
    sys::Result<void> read_secrets() {
        if (plan_.secrets.empty()) return {};
        std::vector<const job::SecretPolicy*> entries;
        const sys::UserNames user = sys::names_of(
            request_.user.uid, {request_.user.groups.begin(), request_.user.groups.end()});
        for (const auto& wanted : plan_.secrets) {
            const auto entry = job::resolve_secret(policy_, wanted.reference);
            if (!entry) return entry.error();
            if (auto may = job::may_use(**entry, wanted.reference, user); !may) return may;
            entries.push_back(*entry);
        }
        const auto is_own = [](const job::SecretPolicy* entry) {
            return entry->source.kind == job::CredentialsSource::Kind::user;
        };
        std::string names;
        for (const auto* entry : entries)
            if (is_own(entry)) names += (names.empty() ? "" : ", ") + name_of(entry->source);
        const auto read = [&]() -> sys::Result<Answer> {
            Answer answer;
            for (const auto* entry : entries) {
                if (!is_own(entry)) continue;
                const auto secret = sys::read_own_secret(entry->source.name);
                if (!secret) return secret.error();
                answer.text += *secret + '\0';
            }
            return answer;
        };
        const auto answer = as_user(request_.user, kUserSeconds, read, "credentials " + names);
        if (!answer) return answer.error();
        std::istringstream own(answer->text);
        for (std::size_t i = 0; i < entries.size(); ++i) {
            sys::Result<std::string> secret = std::string();
            if (!is_own(entries[i]))
                secret = read_stored_secret(*entries[i], policy_);
            else if (!std::getline(own, *secret, '\0'))
                return sys::Error{"credentials " + names + ": not read"};
            if (!secret) return secret.error();
            give(plan_.secrets[i], *secret);
        }
        return {};
    }

    void give(const WantedSecret& wanted, const std::string& secret) {
        if (!wanted.variable.empty())
            plan_.environment.push_back(fmt::format("{}={}", wanted.variable, secret));
        for (auto& mount : plan_.mounts) {
            if (wanted.variable.empty() && mount.target == wanted.target) mount.key = secret;
        }
    }

    // Puts the preparation into the job's container. Only the image's name comes from the plan. The
    // policy says what the name means and what runs it.
    sys::Result<void> contain() {
        auto image = job::resolve_image(policy_, plan_.image);
        if (!image) return image.error();
        image_ = *std::move(image);
        const auto prefix = job::container_prefix(
            policy_, image_,
            {policy_.mount_root, policy_.job_temp, plan_.directory, request_.user.uid,
             request_.user.gid, job::parse_size(plan_.shm_size)});
        if (!prefix) return prefix.error();
        plan_.command = job::in_container(*prefix, plan_.command);
        return {};
    }

    // Runs as the user. Makes the temporary directory, which is the answer's last file, and opens
    // the sources of the mounts.
    sys::Result<Answer> make_job_temp() const {
        if (mkdir(job_temp_.c_str(), 0700) != 0) return sys::errno_error(job_temp_);
        sys::UniqueFd temporary(
            open(job_temp_.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!temporary) return sys::errno_error(job_temp_);
        auto answer = open_sources(plan_.mounts, policy_);
        if (answer) answer->files.push_back(std::move(temporary));
        return answer;
    }

    // Slurm tells a node its own GPUs only.
    std::string host_file() const {
        std::vector<job::HostSlots> hosts;
        for (std::size_t i = 0; i < request_.hosts.size(); ++i)
            hosts.push_back(
                {request_.hosts[i], request_.gpus, request_.tasks.empty() ? 0 : request_.tasks[i]});
        return job::host_file(hosts);
    }

    // Runs as the user, in the job's namespace.
    sys::Result<Answer> make_user_files() const {
        if (auto there = job::check_container(policy_, image_); !there) return there.error();
        if (auto written = sys::write_file(job_temp_ + "/hostfile", host_file(), 0644); !written)
            return written.error();
        if (!plan_.directory.empty())
            if (auto made = sys::make_directories(plan_.directory); !made) return made.error();
        if (!plan_.shared_temp.empty())
            if (auto made = sys::make_directories(plan_.shared_temp); !made) return made.error();
        if (!plan_.log_directory.empty())
            if (auto made = make_output_directory(plan_.shared_directory, plan_.log_directory);
                !made)
                return made.error().in("output directory");
        for (const auto& output : plan_.outputs)
            if (auto made = make_output_directory(output.shared, output.path); !made)
                return made.error().in("output directory");
        if (!plan_.record.empty()) {
            note_job_id();
            std::string what;
            for (const auto& mount : plan_.mounts)
                what += (what.empty() ? "" : ", ") + mount.target;
            (void)job::append_event(plan_.record, {job::Event::Kind::mounted, sys::wall_clock(),
                                                   request_.node, "", what});
        }
        return Answer{};
    }

    // Runs as the user, with the user's umask.
    sys::Result<void> make_output_directory(const std::string& shared,
                                            const std::string& path) const {
        const sys::Umask users(request_.umask);
        if (!shared.empty())
            if (auto made = sys::make_shared_directories(shared); !made) return made;
        return sys::make_directories(path);
    }

    // Runs as the user. The first node writes the file.
    void note_job_id() const {
        const bool is_task = request_.array != 0 && request_.array_task;
        (void)job::write_number(
            plan_.record,
            is_task ? job::Number::of_task(request_.array, *request_.array_task, request_.job_id)
                    : job::Number::of_job(request_.job_id));
    }

    std::string outside(const std::string& path) const {
        return outside_path(path, plan_, policy_, job_temp_);
    }

    // Writes the failure to the execution log and the record. Errors here are ignored, because the
    // line is printed in any case.
    void report(const std::string& line) const {
        if (plan_.log_directory.empty() && plan_.record.empty()) return;
        (void)as_user(request_.user, kUserSeconds, [&]() -> sys::Result<Answer> {
            if (!plan_.record.empty()) {
                note_job_id();
                (void)job::append_event(plan_.record, {job::Event::Kind::failed, sys::wall_clock(),
                                                       request_.node, "JobNodeSetupFailed", line});
            }
            const std::string logs = outside(plan_.log_directory);
            const std::string shared = outside(plan_.shared_directory);
            if (!logs.empty() && make_output_directory(shared, logs)) {
                (void)job::append_execution_log(
                    logs + "/" + job::execution_log_name(plan_.log_node), line);
                if (!plan_.record.empty()) job::leave_outputs(logs, line);
            }
            return Answer{};
        });
    }

    sys::Result<void> write_state(const std::string& result, const std::string& failure) const {
        Fields fields;
        fields.add("restart", request_.restart);
        fields.add("submitted", submitted_);
        if (!submission_) fields.add("made", static_cast<long long>(std::time(nullptr)));
        add_owner(fields, request_.user, job_temp_);
        fields.add("node", request_.node);
        fields.add(kOptions[kJob].name, request_.job_file);
        fields.add(kOptions[kMount].name, request_.mounts);
        fields.add(kOptions[kPrep].name, request_.preparation);
        fields.add(kOptions[kOutput].name, request_.output);
        fields.add("result", result);
        fields.add("message", failure);
        if (result != "ready") return directory_.write_state(fields, {});
        struct stat space = {};
        if (stat("/proc/self/ns/mnt", &space) != 0) return sys::errno_error("/proc/self/ns/mnt");
        fields.add("namespace", in_place_ ? std::to_string(space.st_ino) : "own");
        fields.add("nodes", static_cast<long long>(request_.hosts.size()));
        fields.add("prepare", policy_.prepare_all_nodes ? "all-nodes" : "first-step");
        fields.add("timeout", policy_.preparation_timeout);
        fields.add("cache", policy_.preparation_cache);
        fields.add("mounts", mounts_text());
        fields.add("script", plan_.script);
        fields.add("logs", plan_.log_directory);
        fields.add("logs_outside", outside(plan_.log_directory));
        fields.add("log_node", plan_.log_node);
        fields.add("directory", plan_.directory);
        fields.add("record", plan_.record);
        fields.add("note", plan_.note);
        fields.add("command", plan_.command);
        return directory_.write_state(fields, plan_.environment);
    }

    // A text that is equal for jobs with equal mounts. A mount that only this job writes to has the
    // job's own name in it.
    std::string mounts_text() const {
        std::string text = request_.in_place ? "/tmp of " + job_temp_ + "\n" : "";
        for (const auto& mount : plan_.mounts) {
            text += fmt::format("{} {} {} at {} {} {} {} {}\n", mount.kind().name,
                                mount.kind().in_memory ? job_temp_ : mount.source, mount.directory,
                                mount.target, mount.read_only, mount.no_exec, mount.size,
                                mount.options);
        }
        return text;
    }

    const Request& request_;
    const JobDirectory& directory_;
    const std::string& policy_file_;
    job::SitePolicy policy_;
    NodePlan plan_;
    job::ImagePolicy image_;
    const Witness& witness_;
    std::optional<SubmissionTime>& submission_;
    std::string submitted_;  // empty until slurmctld has answered, or if it is not asked
    std::string job_temp_;   // empty until planned
    bool in_place_ = false;
    unsigned failed_mounts_ = 0;  // the first failed mount ends the set-up
};

bool is_complete(const JobDirectory& directory, const Fields& state) {
    const std::string result = state.get("result");
    if (result != "ready") return result == "failed";
    return state.get("namespace") != "own" || is_pinned(directory);
}

bool is_same_run(const Fields& state, const Request& request) {
    const auto uid = state.number("uid");
    const auto restart = state.number("restart");
    return uid && *uid == request.user.uid && restart && *restart == request.restart;
}

// True if an earlier task of this run of the job has set this node up, or has failed to. The
// witness of then, or else slurmctld, says that the state is of this submission. witness: today's.
// If the node must be set up and the witness is not an extern step, slurmctld is asked.
sys::Result<bool> is_set_up(const JobDirectory& directory, const Request& request,
                            const Witness& witness, std::optional<SubmissionTime>& submission) {
    const Fields state = directory.state();
    const bool is_known = is_same_run(state, request) && is_complete(directory, state);
    if (is_known && has_witness(directory)) return true;
    const bool is_candidate = is_known && !directory.has(kEndingFile);
    if (is_candidate || !witness.is_extern) submission.emplace(request.job_id);
    if (!is_candidate) return false;
    const auto submitted = submission->wait();
    if (!submitted) return submitted.error();
    const Origin origin = origin_of(state, *submitted);
    if (origin == Origin::another) return false;
    if (origin == Origin::unclear)
        return sys::Error{fmt::format(
            "job {} was submitted {} s after it was set up here, by the clocks of slurmctld and of "
            "this node: synchronise the node's clock, and submit the job again",
            request.job_id, std::stoll(*submitted) - std::stoll(state.get("made")))};
    if (auto noted = note_witness(directory, witness); !noted) return noted.error();
    return true;
}

// Removes leftovers of an interrupted set-up, of an earlier run of the job, or of an earlier
// submission with its number. If removal takes longer, or they are another user's, they are set
// aside for the background process.
sys::Result<JobDirectory> clear(JobDirectory directory, const Request& request,
                                const Counters& counters) {
    const auto uid = directory.state().number("uid");
    const bool is_users = !uid || *uid == request.user.uid;
    const bool finished =
        end_job(directory, kLeftoverSeconds, is_users ? kLeftoverSeconds : 0).has_value();
    if (uid) counters.add({{finished ? Counter::swept : Counter::sweep_unfinished, 1}});
    if (finished) return directory;
    const std::string name = directory.name();
    if (auto moved = directory.set_aside(); !moved) return moved.error();
    return JobDirectory::create(name);
}

sys::Result<void> set_up(Request request, const std::string& policy_file,
                         const Counters& counters) {
    auto secret = make_secret();
    if (!secret) return secret.error();
    request.secret = *std::move(secret);
    if (auto made = prepare_base(); !made) return made;
    auto directory = JobDirectory::create(request.name);
    if (!directory) return directory.error();
    const auto witness = find_witness(request.job_id, request.step);
    if (!witness) return witness.error();
    std::optional<SubmissionTime> submission;
    const auto done = is_set_up(*directory, request, *witness, submission);
    if (!done) return done.error();
    if (*done) return {};
    // A step that was attached from outside has no options to finish a set-up with, and must not
    // run without the mounts.
    if (!request.has_options() && is_same_run(directory->state(), request) &&
        directory->state().get("result") == "running")
        return sys::Error{
            "the set-up of the job was interrupted on this node: end the job and submit it again"};
    directory = clear(*std::move(directory), request, counters);
    if (!directory) return directory.error();
    // The empty directory stays, so that the job's end finds what was set aside.
    if (!request.has_options()) return {};
    return Setup(request, *directory, policy_file, *witness, submission).run(counters);
}

}  // namespace

int set_up(const std::string& policy_file, mode_t users_umask, const Counters& counters) {
    const auto text = sys::read_all(STDIN_FILENO, kRequestMaximum);
    auto request = text ? parse_request(*text) : sys::Result<Request>(text.error());
    if (request) request->umask = users_umask;
    const std::string who = request ? "batchai: " + request->node + ": " : "batchai: ";
    const auto done = request ? set_up(*std::move(request), policy_file, counters)
                              : sys::Result<void>(request.error());
    if (done) return 0;
    std::fprintf(stderr, "%s\n", sys::printable(who + done.error().message).c_str());
    return kFailure;
}

}  // namespace batchai::spank
