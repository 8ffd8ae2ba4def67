// SPDX-License-Identifier: Apache-2.0
#include "launcher/slurm_job.hpp"

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace batchai::launcher {
namespace {

// Runs scontrol with these words, none of which the shell could misunderstand, and returns what it
// says. A controller that does not answer is given up.
sys::Result<std::string> scontrol(const std::string& words) {
    const auto path = std::filesystem::path(BATCHAI_SRUN).parent_path() / "scontrol";
    const std::string command = "exec timeout 10 " + path.string() + " " + words + " 2>&1";
    FILE* pipe = ::popen(command.c_str(), "re");
    if (pipe == nullptr) return sys::errno_error("scontrol");
    std::string text;
    std::array<char, 4096> bytes{};
    while (const std::size_t size = std::fread(bytes.data(), 1, bytes.size(), pipe)) {
        text.append(bytes.data(), size);
    }
    const int status = ::pclose(pipe);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
    if (text.empty()) return sys::Error{"scontrol gave no answer"};
    return sys::Error{"scontrol: " + text.substr(0, text.find('\n'))};
}

bool is_number(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

bool SlurmJob::requeued() const {
    return restarts > slurm_restart_count();
}

int slurm_restart_count() {
    const char* count = std::getenv("SLURM_RESTART_COUNT");
    return count == nullptr ? 0 : std::atoi(count);
}

SlurmJob parse_slurm_job(const std::string& line) {
    const auto says = [&line](const char* field) {
        return (" " + line).find(std::string(" ") + field) != std::string::npos;
    };
    const auto value_of = [&line](const std::string& field) {
        const auto begin = (" " + line).find(" " + field + "=");
        if (begin == std::string::npos) return std::string();
        const auto value = begin + field.size() + 1;
        return line.substr(value, line.find_first_of(" \n", value) - value);
    };
    SlurmJob job;
    job.batch = says("BatchFlag=1") || says("BatchFlag=2");  // 2: requeued
    job.requeue = says("Requeue=1");
    job.restarts = std::atoi(value_of("Restarts").c_str());
    job.start = value_of("StartTime");
    if (says("Reason=TimeLimit")) {
        job.end = SlurmJob::End::time_limit;
    } else if (says("PreemptTime=") && !says("PreemptTime=None")) {
        job.end = SlurmJob::End::preempted;
    } else if (job.requeued()) {
        job.end = SlurmJob::End::requeued;
    } else if (says("JobState=COMPLETING") || says("JobState=CANCELLED")) {
        job.end = SlurmJob::End::cancelled;
    }
    return job;
}

sys::Result<SlurmJob> ask_slurm(const std::string& job_id) {
    if (!is_number(job_id)) return sys::Error{"SLURM_JOB_ID is no number: " + job_id};
    const auto line = scontrol("show job -o " + job_id);
    if (!line) return line.error();
    return parse_slurm_job(*line);
}

sys::Result<void> requeue_job(const std::string& job_id) {
    if (!is_number(job_id)) return sys::Error{"SLURM_JOB_ID is no number: " + job_id};
    const auto said = scontrol("requeue " + job_id);
    if (!said) return said.error();
    return {};
}

std::string reason_to_end(const SlurmJob& job) {
    switch (job.end) {
        case SlurmJob::End::time_limit:
            return ": the job has reached its time limit";
        case SlurmJob::End::preempted:
            return ": Slurm has pre-empted the job";
        case SlurmJob::End::requeued:
            return ": the job was requeued";
        case SlurmJob::End::cancelled:
            return ": the job was cancelled";
        case SlurmJob::End::none:
            break;
    }
    return {};
}

}  // namespace batchai::launcher
