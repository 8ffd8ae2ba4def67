// SPDX-License-Identifier: Apache-2.0
//
// JobFileRun: runs a Batch AI job file under batchai-launch. It reads the file and the policy, and
// makes the output directory. Where there is no plugin it also does the plugin's work. When the
// agents have reported their nodes it plans the ranks, and at the end it records how the job ended.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "job/plan.hpp"
#include "job/policy.hpp"
#include "job/spec.hpp"
#include "launcher/common/allocation.hpp"
#include "launcher/common/scratch.hpp"
#include "launcher/root/coordinator.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::launcher {

// Who gives the job its volumes and directories, and runs its preparation. launcher: with --local
// and --without-plugin. It makes symbolic links to directories, and cannot mount.
enum class Preparer { plugin, launcher };

class JobFileRun {
  public:
    // An empty policy_file means the default policy.
    static sys::Result<std::unique_ptr<JobFileRun>> load(const std::string& job_file,
                                                         const std::string& policy_file, Preparer);
    ~JobFileRun();
    JobFileRun(const JobFileRun&) = delete;
    JobFileRun& operator=(const JobFileRun&) = delete;

    int node_count() const { return spec_.node_count; }
    const std::string& record() const { return record_; }  // empty: the file is no snapshot

    // Makes directories and opens the output files. A dry run makes temporary directories only.
    // Output is appended to that of an earlier launch of the job. Call it once, before session().
    sys::Result<void> prepare(const Allocation& allocation, bool dry_run);
    // settings: the user's. What they leave open is as the job file and the site policy say.
    Session session(const LaunchSettings& settings, Order order) const;

    // Writes the failure, if any, into the execution logs and as an event.
    void log_failure(const SessionResult& result) const;
    // Writes result.json, which marks the job as ended.
    void finish(const SessionResult& result) const;

  private:
    JobFileRun() = default;
    sys::Result<void> check_place() const;
    sys::Result<void> read_secrets();
    sys::Result<void> take_record();
    sys::Result<Scratch> make_scratch() const;
    sys::Result<void> make_places();
    sys::Result<void> make_output_directories();
    bool has_own_outputs() const;
    sys::Result<void> open_output();
    static sys::Result<RankMap> map_of(const std::vector<job::ProcessGroup>& groups,
                                       const std::vector<Hello>& nodes, Order order);
    Program program_of_group(const job::ProcessGroup& group,
                             const std::vector<std::string>& container) const;
    std::string shared_directory() const;
    std::string working_directory(int node) const;
    job::Environment variables_of(int node, int gpus = 0) const;
    Secrets secrets(const std::vector<env::Environment>& environments) const;
    sys::Result<std::vector<std::string>> container_prefix(const std::string& directory) const;
    std::string host_file(const std::vector<Hello>& nodes) const;
    sys::Result<Work> plan(const std::vector<Hello>& nodes, Order order) const;
    env::Environment environment_of(const Hello& node, int least_gpus) const;
    env::Environment earlier_outputs(int node) const;
    std::vector<std::string> preparation_of(const Hello& node,
                                            const env::Environment& environment) const;
    std::string log_node(const std::string& node) const;

    job::JobSpec spec_;
    job::SitePolicy policy_;
    job::ImagePolicy image_;
    job::Identity identity_;
    Allocation allocation_;
    std::string file_;
    std::string record_;  // empty: the file is no snapshot
    std::string stdouterr_;
    Preparer preparer_ = Preparer::plugin;
    std::optional<Scratch> scratch_;  // of Preparer::launcher
    std::string places_;   // its path; it contains mnt/ and each node's temporary directory
    std::string volumes_;  // directories of the job's own volumes, one on each line
    sys::UniqueFd output_, error_;
    double start_time_ = 0;
};

}  // namespace batchai::launcher
