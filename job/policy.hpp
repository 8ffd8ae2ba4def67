// SPDX-License-Identifier: Apache-2.0
//
// SitePolicy: the mounts, images and commands that the admin allows, and the site's replacement for
// each of Azure's names. It is read from a TOML file (etc/batchai.toml is the commented original).
// A share, image or mount that the policy does not name is refused.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/file_system.hpp"
#include "job/launch_options.hpp"
#include "job/spec.hpp"
#include "sys/codec.hpp"
#include "sys/result.hpp"
#include "sys/users.hpp"

namespace batchai::job {

// [[share]], [[blob_container]], [[file_server]], [[unmanaged]]: the site's storage for one of the
// service's volumes. [[cluster_volume]]: a volume that every job has below $AZ_BATCHAI_MOUNT_ROOT,
// as the service's clusters had it.
struct VolumePolicy {
    Volume::Kind kind = Volume::Kind::share;
    std::string account = "*";  // glob over the account's name
    // Name of the share, container or server; unmanaged: glob over the command; cluster: its path.
    std::string name;
    std::string login_path;  // the same directory on the login node; empty: not reachable there
    FileSystem file_system;
};

// [program.NAME]: a FUSE program, which stays in the foreground. [container.NAME]: a program that
// runs the command after it in an image. No shell reads command. Placeholders such as {source} and
// {image} are replaced in its arguments (batchai.toml(5)).
struct ProgramPolicy {
    std::vector<std::string> command;
    // Containers: {shm_size} if the job file has no shmSize. Docker's own default.
    std::string shm_size = "64M";
};

// [[image]]: how the site runs jobs of a container image.
inline constexpr char kHost[] = "host";
struct ImagePolicy {
    std::string name;            // glob over the image's name
    std::string run_on = kHost;  // or the name of a container
    std::string image;           // the value of {image}; empty on the host
    std::string horovod;         // batchai-launch's --horovod; empty: its own choice
    std::string compat;          // and --compat; empty: none
    std::string say;  // line shown to the user when this entry is used; empty: a standard one

    bool in_container() const { return run_on != kHost; }
};

// [[preparation]]: a preparation command line that the site replaces.
struct PreparationPolicy {
    std::string command;  // glob over the job's whole command line
    std::string replace;  // the command that runs instead; empty: nothing
    std::string say;
};

// [[allow]]: a mount that users may ask for with --batchai-mount. Their options (ro, noexec, size
// within max_size, a path below it) only restrict it.
struct AllowPolicy {
    std::string name;  // for volume=NAME, if a server or a program provides the mount
    FileSystem file_system;
};

// [[secret]]: the file with a secret of a key vault.
struct SecretPolicy {
    std::string vault;         // glob over the vault's name
    std::string url;           // glob over secretUrl
    CredentialsSource source;  // store:NAME or user:NAME
    // For the store: names of the users whose jobs get the secret, and groups as "@NAME".
    std::vector<std::string> users;
};

// [priority.NAME]: the sbatch option for a job file's schedulingPriority; one of the two.
struct PriorityPolicy {
    std::optional<int> nice;
    std::string qos;
};

// [cluster.NAME]: the site's nodes for a Batch AI cluster.
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
    std::string credentials = "/etc/batchai/credentials";  // the store: files of root, 0600
    std::string python = "python3";
    bool rank_per_gpu =
        false;  // processCount left out: one rank per node (the service), or per GPU
    bool prepare_all_nodes = true;  // before a batch script; false: each at its first step
    int preparation_timeout = 600;  // seconds
    int preparation_cache = 0;      // days; 0: every preparation runs
    int mount_timeout = 60;         // seconds for the mounts of all of a job's servers together
    bool exclusive = true;          // batchai job create asks Slurm for whole nodes
    std::map<std::string, ProgramPolicy> programs;
    std::map<std::string, ProgramPolicy> containers;
    std::vector<VolumePolicy> volumes;
    std::vector<ImagePolicy> images;
    std::vector<PreparationPolicy> preparations;
    std::vector<AllowPolicy> allowed;
    std::vector<SecretPolicy> secrets;
    std::map<Priority, PriorityPolicy> priorities;
    std::map<std::string, ClusterPolicy> clusters;
    LaunchOptions launch;  // [launch]: for options that the user does not give
};

struct ParsedPolicy {
    std::optional<SitePolicy> policy;  // absent when any finding is an error
    std::vector<Finding> findings;  // unknown keys are errors here: an admin's typo must not pass
};

// Every file system of the policy.
std::vector<const FileSystem*> file_systems(const SitePolicy&);

// Identifies an entry of the policy by its table and the keys that name it. A plan refers to a
// remote mount's entry by its name.
struct EntryName {
    std::string table;  // "[[share]]"
    std::string account;
    std::string name;
    std::string program;
    std::string source;
    bool operator==(const EntryName&) const = default;
    BATCHAI_FIELDS(table, account, name, program, source)
};
EntryName entry_name(const VolumePolicy&);
EntryName entry_name(const AllowPolicy&);

// The first entry of that name, or nullptr.
const FileSystem* find_entry(const SitePolicy&, const EntryName&);

ParsedPolicy parse_policy(std::string_view text, const std::string& file_name);

// Reads and parses a policy. The error has one line for each finding.
sys::Result<SitePolicy> load_policy(const std::string& file);

// The policy file for an unprivileged program: $BATCHAI_POLICY, else /etc/batchai/batchai.toml.
// Root's helper never calls this; it takes the path from plugstack.conf only.
std::string default_policy_file();

// The job's volumes and the site's cluster volumes. A volume of the job replaces a cluster volume
// at the same path, above it or below it.
std::vector<Volume> volumes_of(const JobSpec&, const SitePolicy&);

// Resolves the parts of a job by the policy. Errors name the missing key of the policy.
sys::Result<const VolumePolicy*> resolve_volume(const SitePolicy&, const Volume&);
sys::Result<ImagePolicy> resolve_image(const SitePolicy&, const std::string& image);
sys::Result<ImagePolicy> resolve_image(const SitePolicy&, const JobSpec&);  // without one: the host

sys::Result<const SecretPolicy*> resolve_secret(const SitePolicy&, const SecretReference&);

// What a job without the plugin can have: the source of a volume of type bind, and the user's own
// file of a secret that is a reference. Errors say that the plugin is needed.
sys::Result<std::string> bound_directory(const SitePolicy&, const Volume&);
sys::Result<std::string> own_secret_file(const SitePolicy&, const Variable& secret);

// An error if the secret is the site's and this user may not use it.
sys::Result<void> may_use(const SecretPolicy&, const SecretReference&, const sys::UserNames&);

// The option of sbatch for a job's priority, "--nice=100" or "--qos=urgent"; empty: none.
std::string priority_option(const SitePolicy&, Priority);

struct Preparation {
    std::string command;  // with the code that keeps additions to ~/.bashrc; empty: none
    std::string note;     // one line for the user when the policy changed the command, else empty
};
Preparation resolve_preparation(const SitePolicy&, const JobSpec&);

}  // namespace batchai::job
