// SPDX-License-Identifier: Apache-2.0
//
// SitePolicy: what the admin allows and what Azure's names mean on this site; read from a TOML file
// (etc/batchai.toml is the commented original). Default deny: a share, image or mount that the
// policy does not name is refused.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/spec.hpp"
#include "sys/result.hpp"

namespace batchai::job {

enum class MountType { bind, tmpfs, overlay };

// [[share]]: what an Azure file share is here.
struct SharePolicy {
    std::string account;  // glob over the account's name; "*" by default
    std::string share;    // the share's name
    MountType type = MountType::bind;
    std::string source;  // bind: directory on every node
    std::string
        login_path;  // the same directory seen from the login node; empty: not reachable there
    bool read_only = false;
};

// [[image]]: what a container image name means here.
struct ImagePolicy {
    std::string name;  // glob over the image's name
    std::string run_on = "host";
    std::string say;  // line shown to the user when this entry is used; empty: a standard one
};

// [[preparation]]: a preparation command line that the site runs differently.
struct PreparationPolicy {
    std::string command;  // glob over the job's whole command line
    std::string replace;  // what runs instead; empty: nothing
    std::string say;
};

// [[allow]]: a mount that users may ask for with --batchai-mount. What they may add to it (ro,
// noexec, size within max_size) only narrows it.
struct AllowPolicy {
    MountType type = MountType::bind;
    std::string
        source;  // bind: the directory and all below it; overlay: the lower directory; tmpfs: empty
    bool read_only = false;       // only read-only
    std::string max_size = "1G";  // tmpfs and overlay's upper: limit of size=
};

// [cluster.NAME]: what a Batch AI cluster is here.
struct ClusterPolicy {
    std::string partition;  // empty: the default one
    std::string vm_size;    // shown in tables
    std::string gres;       // asked for per node, e.g. "gpu:1"; empty: none
};

struct SitePolicy {
    std::string file;  // where it was read from
    std::string mount_root = "/run/batchai/mnt";
    std::string job_temp =
        "/tmp";  // AZ_BATCHAI_JOB_TEMP is a directory below it, local to the node
    std::string python = "python3";
    bool rank_per_gpu =
        false;  // processCount left out: one rank per node (the service), or per GPU
    bool prepare_all_nodes = true;  // before a batch script; false: each at its first step
    int preparation_timeout = 600;  // seconds
    std::vector<SharePolicy> shares;
    std::vector<ImagePolicy> images;
    std::vector<PreparationPolicy> preparations;
    std::vector<AllowPolicy> allowed;
    std::map<std::string, ClusterPolicy> clusters;
};

struct ParsedPolicy {
    std::optional<SitePolicy> policy;  // absent when any finding is an error
    std::vector<Finding> findings;  // unknown keys are errors here: an admin's typo must not pass
};

ParsedPolicy parse_policy(std::string_view text, const std::string& file_name);

// Reads and parses a policy; the error is all findings, a line each.
sys::Result<SitePolicy> load_policy(const std::string& file);

// The policy file for an unprivileged program: $BATCHAI_POLICY, else /etc/batchai/batchai.toml.
// Root's helper never calls this; it takes the path from plugstack.conf only.
std::string default_policy_file();

// How the policy reads the parts of a job. Errors name the policy key that is missing.
sys::Result<SharePolicy> resolve_share(const SitePolicy&, const AzureFileShare&);
sys::Result<ImagePolicy> resolve_image(const SitePolicy&, const std::string& image);

struct Preparation {
    std::string command;  // empty: nothing to run
    std::string note;     // one line for the user when the policy changed the command, else empty
};
Preparation resolve_preparation(const SitePolicy&, const JobSpec&);

}  // namespace batchai::job
