// SPDX-License-Identifier: Apache-2.0
//
// JobSpec: the contents of a Batch AI job file, as a value. parse_job makes it from a job.json of
// any of the service's API versions. All later code (policy, plan, layout) uses only this value.
//
// Strings keep their $AZ_BATCHAI_* variables; expand.hpp replaces them when a node's values are
// known. $AZ_LEARNING_*, the names before September 2017, have become AZ_BATCHAI_*. Source:
// Microsoft.BatchAI 2018-05-01 JobCreateParameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sys/codec.hpp"
#include "sys/result.hpp"

namespace batchai::job {

// A secret of a key vault, which a job file names instead of a value.
struct SecretReference {
    std::string vault;  // the last name of sourceVault.id
    std::string url;    // secretUrl

    bool operator==(const SecretReference&) const = default;
    BATCHAI_FIELDS(vault, url)
};

struct Variable {
    std::string name;
    std::string value;  // of a reference: empty until the secret was read
    std::optional<SecretReference> reference = std::nullopt;  // valueSecretReference
};

// One of mountVolumes: the volume's name in Azure and its path in the job.
struct Volume {
    enum class Kind {
        share,  // azureFileShares[]: https://ACCOUNT.file.core.windows.net/NAME[/DIRECTORY]
        blob_container,  // azureBlobFileSystems[]: the container NAME of ACCOUNT
        file_server,     // fileServers[]: DIRECTORY (sourceDirectory) of the server NAME
        unmanaged,       // unmanagedFileSystems[]: the mountCommand NAME
        cluster          // in no job file: the site mounts it in every job, at NAME
    };
    Kind kind = Kind::share;
    std::string account;  // empty: still the <AZURE_BATCHAI_STORAGE_ACCOUNT> placeholder
    std::string name;
    std::string directory;            // below it, without slashes at its ends; often empty
    std::string relative_mount_path;  // below $AZ_BATCHAI_JOB_MOUNT_ROOT
    std::string account_key;          // credentials.accountKey; never printed or recorded
    bool key_is_placeholder = false;  // it was <AZURE_BATCHAI_STORAGE_KEY>
    std::optional<SecretReference> key_reference;  // credentials.accountKeySecretReference
    std::string mount_options;                     // mountOptions
    std::optional<unsigned> file_mode;             // fileMode
    std::optional<unsigned> directory_mode;        // directoryMode
    std::string key;  // where in the job file: "properties.mountVolumes.azureFileShares[0]"
};

// A row for each kind of volume: its names in messages, in the job file and in the site policy.
struct VolumeKind {
    Volume::Kind kind;
    bool has_account;  // it belongs to a storage account
    const char* name;
    const char* list;           // of mountVolumes; null: it is in no job file
    const char* name_key;       // of the volume's name there
    const char* directory_key;  // of its directory below that name
    const char* table;          // of the policy
    const char* table_key;      // of the volume's name there
};
inline constexpr VolumeKind kVolumeKinds[] = {
    {Volume::Kind::share, true, "share", "azureFileShares", "azureFileUrl", "azureFileUrl", "share",
     "share"},
    {Volume::Kind::blob_container, true, "blob container", "azureBlobFileSystems", "containerName",
     "containerName", "blob_container", "container"},
    {Volume::Kind::file_server, false, "file server", "fileServers", "fileServer.id",
     "sourceDirectory", "file_server", "name"},
    {Volume::Kind::unmanaged, false, "mount command", "unmanagedFileSystems", "mountCommand",
     "mountCommand", "unmanaged", "command"},
    {Volume::Kind::cluster, false, "cluster volume", nullptr, "", "", "cluster_volume", "path"},
};
constexpr const VolumeKind& kind_of(Volume::Kind kind) {
    return kVolumeKinds[static_cast<std::size_t>(kind)];
}

// "share 'data' of account 'a'", "file server 'nfs1'".
std::string describe(const Volume&);

// The settings of a job's toolkit. Each toolkit fills in the members that it has (job/toolkit/).
struct ToolkitSettings {
    std::string type;              // the service's toolType: "horovod"; empty: none yet
    std::string key;               // "properties.horovodSettings"
    std::string script;            // pythonScriptFilePath, shell text like all others here
    std::string interpreter;       // pythonInterpreterPath; empty: the policy's
    std::string config;            // configFilePath
    std::string command_line;      // commandLine
    std::string arguments;         // commandLineArgs
    std::string master_arguments;  // masterCommandLineArgs
    std::string worker_arguments;  // workerCommandLineArgs
    std::string server_arguments;  // parameterServerCommandLineArgs
    std::string backend;           // communicationBackend, in lower case
    std::optional<int> process_count;
    std::optional<int> worker_count;
    std::optional<int> server_count;  // parameterServerCount
};

// One of inputDirectories: the job finds its path in AZ_BATCHAI_INPUT_<id>.
struct InputDirectory {
    std::string id;
    std::string path;
};

// One of outputDirectories: the job finds its path in AZ_BATCHAI_OUTPUT_<id> (layout.hpp).
struct OutputDirectory {
    std::string id;
    std::string path_prefix;
    std::string path_suffix;  // without slashes at its ends; often empty
    bool is_made = true;      // createNew; false: the path is used as it is
    std::string key;          // where in the job file: "properties.outputDirectories[0]"
};

// The job's full name. Each part is a level of its output path.
struct Identity {
    std::string subscription = "slurm";
    std::string resource_group = "default";
    std::string workspace = "default";
    std::string experiment = "default";
    std::string name = "job";
    std::string uuid;  // empty: not yet submitted
    // NAME, or GROUP/WORKSPACE/NAME if it is not in the job's workspace. Empty: Slurm's default
    // partition.
    std::string cluster;
};

// A cluster's full name. An empty name: Slurm's default partition.
struct ClusterName {
    std::string resource_group, workspace, name;

    bool operator==(const ClusterName&) const = default;
};
ClusterName cluster_of(const Identity&);
// The text of Identity::cluster. Empty parts of the name are the identity's.
std::string cluster_text(const Identity&, const ClusterName&);

// schedulingPriority: "low", "normal", "high".
enum class Priority { low, normal, high };
std::optional<Priority> priority_of(std::string_view name);

struct JobSpec {
    int node_count = 0;
    std::string std_out_err_path_prefix;
    std::vector<Volume> volumes;
    std::optional<std::string> image;                // containerSettings.imageSourceRegistry.image
    std::optional<std::uint64_t> shm_size;           // containerSettings.shmSize, in bytes
    std::optional<std::string> preparation_command;  // jobPreparation.commandLine
    std::vector<Variable> environment;               // environmentVariables, in the file's order
    std::vector<Variable> secrets;                   // as environment, never printed or recorded
    std::vector<InputDirectory> inputs;
    std::vector<OutputDirectory> outputs;
    ToolkitSettings toolkit;
    std::string cluster;  // the last name of cluster.id; batchai job create uses it; often empty
    Priority priority = Priority::normal;  // schedulingPriority
    std::optional<long> time_limit;        // constraints.maxWallClockTime, in seconds
    std::optional<Identity> identity;      // present: the file is a snapshot
};

// One finding in a job file. path is the JSON path of the key ("properties.nodeCount"). A warning
// names what may be wrong. A note explains how the site treats a valid value, for example that it
// has no effect.
struct Finding {
    enum class Severity { note, warning, error };
    Severity severity = Severity::error;
    std::string file;
    int line = 0;    // 1-based; 0: the finding has no place in the file
    int column = 0;  // 1-based, in bytes
    std::string path;
    std::string message;

    // "job.json:4:22: properties.nodeCount: expected an integer, found a string";
    // "job.json:4:22: warning: properties.nodes: unknown key, ignored".
    std::string text() const;
};

class Document;

struct ParsedJob {
    std::optional<JobSpec> spec;  // absent when any finding is an error
    std::vector<Finding> findings;
    std::shared_ptr<Document> document;  // null: the text is not JSON
};

bool has_error(const std::vector<Finding>& findings);

// The largest job file. parse_job refuses a larger one.
inline constexpr std::size_t kMaxJobBytes = 1 << 20;

// Parses the text of a job.json. file_name is used in the findings only. Unknown keys are
// warnings, and known keys without an effect are notes; wrong types, missing required keys and
// impossible values are errors; every error of the file is reported, not only the first. Keys named
// "comment*" or "$comment" are ignored.
ParsedJob parse_job(std::string_view text, const std::string& file_name);
// Reads a document again, which may have been changed since it was parsed.
ParsedJob parse_job(std::shared_ptr<Document>);

}  // namespace batchai::job
