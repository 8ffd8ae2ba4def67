// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/submission.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>

#include "spank/helper/fields.hpp"
#include "spank/helper/files.hpp"
#include "spank/protocol.hpp"
#include "sys/pipe.hpp"
#include "sys/subprocess.hpp"
#include "sys/text.hpp"

namespace batchai::spank {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kDeadline{150};  // Slurm fails over to a backup after 120
constexpr std::chrono::milliseconds kAgain{500};
constexpr std::size_t kAnswerMaximum = 1024 * 1024;
constexpr int kSignalled = 128;  // this and higher exit codes: ended by a signal

// The plugin names squeue, and Slurm's configuration if it is not at its place.
sys::Program squeue(unsigned job, int output) {
    const char* path = std::getenv("BATCHAI_SQUEUE");
    const bool absolute = path != nullptr && path[0] == '/';
    sys::Program program{{absolute ? path : "/usr/bin/squeue", "--local", "--noheader",
                          "--states=all", fmt::format("--jobs={}", job), "--format=%A %V"}};
    program.environment = {"SLURM_TIME_FORMAT=%s"};
    if (const char* file = std::getenv("SLURM_CONF"))
        program.environment->push_back(std::string("SLURM_CONF=") + file);
    program.out = program.err = output;
    program.closes_others = true;
    program.death_signal = SIGKILL;
    return program;
}

bool is_number(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// Users choose the arguments of set-user-ID programs, which belong to root too. So compare the
// program.
bool is_same_program(pid_t one, pid_t other) {
    struct stat a = {};
    struct stat b = {};
    return stat(fmt::format("/proc/{}/exe", one).c_str(), &a) == 0 &&
           stat(fmt::format("/proc/{}/exe", other).c_str(), &b) == 0 && a.st_ino == b.st_ino &&
           a.st_dev == b.st_dev;
}

// The process that Slurm names "slurmstepd: [17.extern]". step: another slurmstepd of the job. -1:
// there is none.
pid_t find_extern_step(unsigned job, pid_t step) {
    // Slurm 24.05 and later add a word on the node with the step manager.
    const std::string wanted = fmt::format("slurmstepd: [{}.extern]", job);
    const std::string managing = fmt::format("slurmstepd: [{}.extern ", job);
    const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
    while (const dirent* entry = proc ? readdir(proc.get()) : nullptr) {
        const pid_t pid = std::atoi(entry->d_name);
        struct stat info = {};
        if (pid <= 1 || fstatat(dirfd(proc.get()), entry->d_name, &info, 0) != 0 ||
            info.st_uid != geteuid())
            continue;
        const std::string name = entry->d_name;
        const std::string found = read_or_empty(dirfd(proc.get()), name + "/cmdline");
        if ((found.starts_with(wanted) || found.starts_with(managing)) &&
            is_same_program(pid, step))
            return pid;
    }
    return -1;
}

}  // namespace

SubmissionTime::SubmissionTime(unsigned job) : job_(job) {
    ask();
}

void SubmissionTime::ask() {
    auto pipe = sys::make_pipe();
    if (!pipe) return;
    output_ = std::move(pipe->read);
    auto started = sys::Subprocess::start(squeue(job_, pipe->write.get()));
    if (started)
        squeue_.emplace(*std::move(started));
    else
        not_started_ = started.error().message;
}

sys::Result<std::string> SubmissionTime::wait() {
    const auto deadline = Clock::now() + kDeadline;
    while (time_.empty()) {
        const std::string lines =
            output_ && squeue_ ? sys::read_until({output_.get()}, deadline, kAnswerMaximum)[0]
                               : not_started_;
        const bool may_succeed = squeue_ && squeue_->end() < kSignalled;
        squeue_.reset();
        time_ = submission_time(lines, job_);
        if (!time_.empty()) break;
        const bool refused = lines.find("Invalid job id") != lines.npos;
        const std::string answer = sys::first_line(lines);
        if (!may_succeed || refused || Clock::now() + kAgain > deadline)
            return sys::Error{
                fmt::format("slurmctld does not say when job {0} was submitted: {1}. Run 'squeue "
                            "--jobs={0}' as root on this node",
                            job_, answer.empty() ? "squeue did not answer" : answer)};
        std::this_thread::sleep_for(kAgain);
        ask();
    }
    return time_;
}

std::string submission_time(const std::string& lines, unsigned job) {
    const std::string number = std::to_string(job);
    for (const auto& line : split_nonempty(lines, '\n')) {
        const auto words = split_nonempty(line, ' ');
        if (words.size() == 2 && words[0] == number && is_number(words[1])) return words[1];
    }
    return {};
}

Origin origin_of(const Fields& state, const std::string& submitted) {
    constexpr unsigned long long kSlowest = 300;
    const auto made = state.number("made");
    if (!made) return state.get("submitted") == submitted ? Origin::this_one : Origin::another;
    const auto time = std::strtoull(submitted.c_str(), nullptr, 10);
    if (time <= *made) return Origin::this_one;
    return time <= *made + kSlowest ? Origin::unclear : Origin::another;
}

bool has_witness(const JobDirectory& directory) {
    const auto witness = identity_from_text(read_or_empty(directory.fd(), kWitnessFile));
    return witness && is_alive(*witness);
}

sys::Result<Witness> find_witness(unsigned job, pid_t step) {
    const pid_t extern_step = find_extern_step(job, step);
    if (extern_step > 0)
        if (auto process = identify(extern_step)) return Witness{*std::move(process), true};
    auto process = identify(step);
    if (!process) return process.error();
    return Witness{*std::move(process), false};
}

sys::Result<void> note_witness(const JobDirectory& directory, const Witness& witness) {
    return directory.replace(kWitnessFile, to_text(witness.process));
}

}  // namespace batchai::spank
