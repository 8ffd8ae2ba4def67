// SPDX-License-Identifier: Apache-2.0
#include "slurm/own_job.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <sstream>
#include <utility>
#include <vector>

#include "slurm/command.hpp"

namespace batchai::slurm {
namespace {

// What scontrol prints, in UTC whatever the user's shell has as its time zone.
sys::Result<std::string> scontrol(std::vector<std::string> words,
                                  std::chrono::seconds limit = std::chrono::seconds{10}) {
    return ask({"scontrol",
                std::move(words),
                {"TZ=", kTimeFormat},
                {"TZ=UTC", "SLURM_TIME_FORMAT=standard"},
                {},
                limit});
}

// The value of a field of `scontrol show job -o`; empty if there is none.
std::string field(const std::string& line, const std::string& name) {
    const std::string key = " " + name + "=";
    const auto found = (" " + line).find(key);
    if (found == std::string::npos) return {};
    const auto begin = found + key.size() - 1;
    return line.substr(begin, line.find_first_of(" \n", begin) - begin);
}

// A time of scontrol(), which is in UTC. 0: it is none, such as "Unknown".
double time_in_utc(const std::string& time) {
    std::tm utc{};
    return ::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &utc) == nullptr
               ? 0
               : static_cast<double>(::timegm(&utc));
}

// The value of --gres for "gres:nic:1,gres:gpu:2". Newer releases write "gres/nic:1".
std::string gres_of(std::string tres) {
    for (const char* prefix : {"gres:", "gres/"}) {
        for (std::size_t at = 0; (at = tres.find(prefix)) != std::string::npos;) tres.erase(at, 5);
    }
    return tres;
}

// The number at the end of "gres:gpu:a100:2". It is 1 if there is no number, and 0 without GPUs.
int gpus_in(const std::string& tres) {
    const auto gpu = tres.find("gpu");
    if (gpu == std::string::npos) return 0;
    const std::string first = tres.substr(gpu, tres.find(',', gpu) - gpu);
    return std::max(1, std::atoi(first.c_str() + (first.find_last_of(":=") + 1)));
}

// The number of the job of a line: "JobId=28 ArrayJobId=26 ArrayTaskId=3".
job::Number number_in(const std::string& line) {
    const auto number = [&line](const char* name) {
        const auto parsed = job::parse_number(field(line, name));
        return parsed ? parsed->own() : 0;
    };
    const std::int64_t own = number("JobId");
    // Tasks that wait together have one line, with a list in place of an index.
    if (const auto task = job::parse_index(field(line, "ArrayTaskId")))
        return job::Number::of_task(number("ArrayJobId"), *task, own);
    if (const auto component = job::parse_index(field(line, "HetJobOffset")))
        return job::Number::of_component(number("HetJobId"), *component, own);
    return job::Number::of_job(own);
}

GpuRequest gpu_request(const std::string& line) {
    GpuRequest request;
    const int per_task = gpus_in(field(line, "TresPerTask"));
    const int tasks = std::atoi(field(line, "NtasksPerTRES").c_str());
    const int others = gpus_in(field(line, "TresPerJob")) + gpus_in(field(line, "TresPerSocket"));
    if (per_task + tasks + others == 0) return request;
    request.gpus_per_task = std::max(1, per_task);
    request.tasks_per_gpu = std::max(1, tasks);
    // Without options a step inherits the job's request. With one task per node it then gets too
    // few GPUs (per task), or none, because a step with --overlap cannot divide a total among
    // nodes. Slurm does not count GPUs per socket for a step, so this option gives all GPUs of the
    // job on the node.
    request.step_options = {"--gpus-per-socket=1"};
    const std::string per_node = gres_of(field(line, "TresPerNode"));
    if (!per_node.empty()) request.step_options.push_back("--gres=" + per_node);
    return request;
}

}  // namespace

OwnJob parse_own_job(const std::string& line, int restarts) {
    const auto says = [&line](const char* field) {
        return (" " + line).find(std::string(" ") + field) != std::string::npos;
    };
    OwnJob job;
    job.number = number_in(line);
    job.batch = says("BatchFlag=1") || says("BatchFlag=2");  // 2: it was requeued
    job.requeue = says("Requeue=1");
    const int counted = std::atoi(field(line, "Restarts").c_str());
    job.restarts = std::min(restarts, counted);
    job.runs = says("JobState=RUNNING");
    job.requeued = counted > restarts && !job.runs;  // a step may lack SLURM_RESTART_COUNT
    job.start = field(line, "StartTime");
    if (says("Reason=TimeLimit")) {
        job.end = OwnJob::End::time_limit;
    } else if (says("PreemptTime=") && !says("PreemptTime=None")) {
        job.end = OwnJob::End::preempted;
    } else if (job.requeued) {
        job.end = OwnJob::End::requeued;
    } else if ((says("JobState=COMPLETING") || says("JobState=CANCELLED")) &&
               !says("Reason=NodeDown")) {
        job.end = OwnJob::End::cancelled;
    }
    if (!job.runs) job.end_time = time_in_utc(field(line, "EndTime"));
    job.gpus = gpu_request(line);
    return job;
}

std::string line_of_job(const std::string& lines, std::int64_t own) {
    const std::string start = "JobId=" + std::to_string(own) + " ";
    std::istringstream text(lines);
    for (std::string line; std::getline(text, line);) {
        if (line.starts_with(start)) return line + "\n";
    }
    return {};
}

sys::Result<OwnJob> query_own_job(std::int64_t own, int restarts, std::chrono::seconds limit) {
    const auto lines = scontrol({"show", "job", "-o", std::to_string(own)}, limit);
    if (!lines) return lines.error();
    const std::string line = line_of_job(*lines, own);
    if (line.empty()) return sys::Error{"scontrol shows no job " + std::to_string(own)};
    return parse_own_job(line, restarts);
}

bool is_forgotten(const job::Number& job) {
    const auto lines = scontrol({"show", "job", "-o", job.text()});
    return !lines && lines.error().message.find("Invalid job id") != std::string::npos;
}

std::string job_of_process(const std::string& list, const std::string& pid) {
    std::istringstream text(list);
    for (std::string line; std::getline(text, line);) {
        std::istringstream words(line);
        std::string listed, job;
        if (words >> listed >> job && listed == pid) return job;
    }
    return {};
}

sys::Result<std::int64_t> job_of_this_process() {
    const auto list = scontrol({"listpids"});
    if (!list) return list.error();
    const auto job = job::parse_number(job_of_process(*list, std::to_string(::getpid())));
    if (!job) return sys::Error{"scontrol listpids does not list this process"};
    return job->own();
}

sys::Result<void> requeue_job(const job::Number& job) {
    const auto said = scontrol({"requeue", job.text()});
    if (!said) return said.error();
    return {};
}

std::string reason_to_end(const OwnJob& job) {
    switch (job.end) {
        case OwnJob::End::time_limit:
            return ": the job has reached its time limit";
        case OwnJob::End::preempted:
            return ": Slurm has preempted the job";
        case OwnJob::End::requeued:
            return ": the job was requeued";
        case OwnJob::End::cancelled:
            return ": the job was cancelled";
        case OwnJob::End::none:
            break;
    }
    return {};
}

}  // namespace batchai::slurm
