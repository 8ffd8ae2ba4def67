// SPDX-License-Identifier: Apache-2.0
//
// The paths of a job's files in the service's output layout, on a node and on the login node.
//   {stdOutErrPathPrefix}/{segment}/stdouterr
//   {pathPrefix}/{segment}/outputs[/{pathSuffix}]      of each of outputDirectories
// segment is {subscription}/{resource group}/workspaces/{ws}/experiments/{exp}/jobs/{job}/{uuid}.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/expand.hpp"
#include "job/policy.hpp"
#include "job/spec.hpp"
#include "sys/codec.hpp"

namespace batchai::job {

// jobOutputDirectoryPathSegment. The resource group is lower-cased, as the service did.
std::string output_segment(const Identity&);

// AZ_BATCHAI_STDOUTERR_DIR on a node. environment must contain AZ_BATCHAI_JOB_MOUNT_ROOT.
std::string stdouterr_directory(const JobSpec&, const Identity&, const Environment&);

// A directory that is made for a job, and the part of its path that jobs of several users share.
struct JobsDirectory {
    std::string path;
    std::string shared;
    bool operator==(const JobsDirectory&) const = default;
    BATCHAI_FIELDS(path, shared)
};

// AZ_BATCHAI_OUTPUT_<id>; environment as above. With createNew=false, shared is empty and the path
// is pathPrefix/pathSuffix unchanged.
JobsDirectory output_directory(const OutputDirectory&, const Identity&, const Environment&);
// The directories to make, the stdouterr directory first.
std::vector<JobsDirectory> directories_to_make(const JobSpec&, const Identity&, const Environment&);

// The part of a stdouterr directory that several jobs share.
std::string shared_part(const std::string& stdouterr);

// Checks that the site allows the places of the job's outputDirectories. These may be on a volume
// of the job, in its temporary directories, or below a directory of an [[allow]] entry. Such an
// entry has type bind and lets jobs write. Each error names its directory.
struct RefusedOutput {
    const OutputDirectory* directory = nullptr;
    std::string message;
};
std::vector<RefusedOutput> refused_outputs(const JobSpec&, const SitePolicy&);

// The part after $AZ_BATCHAI_JOB_MOUNT_ROOT/ (or $AZ_BATCHAI_MOUNT_ROOT/) in a path of the job
// file. nullopt: the path does not start with it, or the part has ".." or a variable.
std::optional<std::string> below_mount_root(const std::string& path);

// $AZ_BATCHAI_JOB_TEMP below the mount root. It has the same path on all nodes, and is a different
// directory on each.
inline constexpr char kTemporary[] = ".temp";
// Where a FUSE program finds its tools and its home. The program sees a mount root of its own, with
// this directory and its own target.
inline constexpr char kDaemonDirectory[] = ".batchai";
// The directory below $AZ_BATCHAI_JOB_TEMP in which the preparation and the processes of a job file
// start.
inline constexpr char kWorking[] = "wd";
// The names below the mount root that are batchai's own. No mount of a job may be there.
struct ReservedTarget {
    const char* name;
    const char* use;  // for messages
};
inline constexpr ReservedTarget kReservedTargets[] = {
    {kTemporary, "the job's temporary directory"},
    {kDaemonDirectory, "the directory of FUSE programs"},
};
// Why a mount of a job may not be at this path below the mount root, for a message after the path;
// empty: it may.
std::string why_no_mount_target(const std::string& path);

// The variables of the job that name a directory.
inline constexpr const char* kDirectoryVariables[] = {
    "AZ_BATCHAI_JOB_MOUNT_ROOT", "AZ_BATCHAI_MOUNT_ROOT", "AZ_BATCHAI_JOB_TEMP",
    "AZ_BATCHAI_JOB_TEMP_DIR", "AZ_BATCHAI_SHARED_JOB_TEMP"};

// True if a job's output may go below a path of the job file. The path must be absolute, or start
// with the variable of a directory (mount root, temporary directories). It must have no other
// variable, no ".." and no control character.
bool is_output_prefix(const std::string& path);

// True if a path of the job file starts with the variable of the node's own temporary directory,
// which is removed with the job.
bool is_in_job_temp(const std::string& path);

// The length of $AZ_BATCHAI_JOB_MOUNT_ROOT, $AZ_BATCHAI_MOUNT_ROOT or their forms with braces at
// the start of a text; 0: the text starts with another one.
std::size_t mount_root_length(std::string_view text);
// True if a path of the job file starts with the variable of the mount root. The second is the
// message for such a path that no volume covers.
bool is_in_mount_root(const std::string& path);
std::string no_volume(const std::string& path);

// The volume of the job (volumes_of) to which such a path belongs.
std::optional<Volume> volume_of(const JobSpec&, const SitePolicy&, const std::string& path);

// A path of the job file (it starts with $AZ_BATCHAI_JOB_MOUNT_ROOT/<relativeMountPath>/…) as the
// login node sees it. nullopt: it is on no share, or the share has no login_path.
std::optional<std::string> login_path(const JobSpec&, const SitePolicy&, const std::string& path);

// The stdouterr directory as the login node sees it.
std::optional<std::string> login_stdouterr_directory(const JobSpec&, const SitePolicy&,
                                                     const Identity&);

// An output directory on the login node. nullopt: the job does not have the id.
std::optional<std::string> login_output_directory(const JobSpec&, const SitePolicy&,
                                                  const Identity&, const OutputDirectory&);

// File names in the stdouterr directory. node is empty in a one-node job: "execution.log",
// "stdout-job_prep.txt".
std::string execution_log_name(const std::string& node);
std::string preparation_stdout_name(const std::string& node);
std::string preparation_stderr_name(const std::string& node);

}  // namespace batchai::job
