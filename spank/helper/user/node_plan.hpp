// SPDX-License-Identifier: Apache-2.0
//
// NodePlan: the mounts, directories, variables and commands of a job on this node, from its
// options, its job file and the policy. A process with the user's rights makes it. Root reads it as
// bytes and checks the mounts again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "job/layout.hpp"
#include "job/plan.hpp"
#include "job/policy.hpp"
#include "spank/helper/request.hpp"
#include "sys/codec.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

// A secret that root reads for the job, as the site policy says.
struct WantedSecret {
    std::string variable;  // gets the secret; empty: the secret is the key of a mount
    std::string target;    // the target of that mount
    job::SecretReference reference;

    bool operator==(const WantedSecret&) const = default;
    BATCHAI_FIELDS(variable, target, reference)
};

struct NodePlan {
    std::vector<job::Mount> mounts;
    std::vector<WantedSecret> secrets;
    std::vector<std::string> environment;     // "NAME=VALUE"
    std::string log_directory;                // as the job sees it; empty: none
    std::string shared_directory;             // the part that several jobs share; empty: none
    std::vector<job::JobsDirectory> outputs;  // the job's outputDirectories
    std::string log_node;                     // in the names of the logs; empty in a one-node job
    std::string record;                       // the record directory; empty: none
    std::string shared_temp;                  // empty: none
    std::string directory;                    // where a job file's processes start; empty: no file
    std::string command;                      // the preparation's command; empty: none
    std::string image;                        // the job's container image; empty: none
    std::string shm_size;  // size of the container's /dev/shm in bytes; empty: the site's default
    std::string note;      // the policy's note about the preparation
    std::string script;    // must exist once the node is prepared; empty: unknown
    std::string failure;   // why the job cannot run here; empty: it can

    bool operator==(const NodePlan&) const = default;
    BATCHAI_FIELDS(mounts, secrets, environment, log_directory, shared_directory, outputs, log_node,
                   record, shared_temp, directory, command, image, shm_size, note, script, failure)
};

// Call with the user's rights. An error is a job file that cannot be used at all. Later errors go
// into the plan's failure, so that they can be written to the job's logs.
sys::Result<NodePlan> make_node_plan(const Request&, const job::SitePolicy&);

// The path of the job's temporary directory on the node. All users may make directories in /tmp, so
// the name is random and no user can have made it before. The job finds it at job::kTemporary below
// the mount root.
std::string job_temp(const Request&, const job::SitePolicy&);

// Bytes for root, which trusts no value in them. An error: the bytes are not a plan.
std::string to_bytes(const NodePlan&);
sys::Result<NodePlan> node_plan_from_bytes(std::string_view bytes);

// Turns a path as the job sees it into the path without the job's mounts. Empty: only the job has
// that mount. job_temp: as above.
std::string outside_path(const std::string& path, const NodePlan&, const job::SitePolicy&,
                         const std::string& job_temp);

}  // namespace batchai::spank
