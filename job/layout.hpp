// SPDX-License-Identifier: Apache-2.0
//
// Where a job's files are: the service's output layout, seen from a node and from the login node.
//   {stdOutErrPathPrefix}/{subscription}/{resource
//   group}/workspaces/{ws}/experiments/{exp}/jobs/{job}/{uuid}/stdouterr
#pragma once

#include <optional>
#include <string>

#include "job/expand.hpp"
#include "job/policy.hpp"
#include "job/spec.hpp"

namespace batchai::job {

// jobOutputDirectoryPathSegment. The resource group is lower-cased, as the service did.
std::string output_segment(const Identity&);

// AZ_BATCHAI_STDOUTERR_DIR on a node; environment must hold AZ_BATCHAI_JOB_MOUNT_ROOT.
std::string stdouterr_directory(const JobSpec&, const Identity&, const Environment&);

// The part of a stdouterr directory that is no job's own: jobs of several users share it.
std::string shared_part(const std::string& stdouterr);

// What follows $AZ_BATCHAI_JOB_MOUNT_ROOT/ (or $AZ_BATCHAI_MOUNT_ROOT/) in a path of the job file;
// nothing when it does not begin so, or goes on with ".." or with a variable.
std::optional<std::string> below_mount_root(const std::string& path);

// Whether a job's output may go below a path of the job file: it is absolute, or begins with the
// variable of a directory (mount root, temporary directories); it holds no other variable, no "..",
// no control character.
bool is_output_prefix(const std::string& path);

// The volume of the job that such a path is on, or nullptr.
const Volume* volume_of(const JobSpec&, const std::string& path);

// A path of the job file (it starts with $AZ_BATCHAI_JOB_MOUNT_ROOT/<relativeMountPath>/…) as the
// login node sees it; nothing when it is on no share or the share has no login_path.
std::optional<std::string> login_path(const JobSpec&, const SitePolicy&, const std::string& path);

// The stdouterr directory as the login node sees it.
std::optional<std::string> login_stdouterr_directory(const JobSpec&, const SitePolicy&,
                                                     const Identity&);

// File names in the stdouterr directory. node is empty in a one-node job: "execution.log",
// "stdout-job_prep.txt".
std::string execution_log_name(const std::string& node);
std::string preparation_stdout_name(const std::string& node);
std::string preparation_stderr_name(const std::string& node);

}  // namespace batchai::job
