// SPDX-License-Identifier: Apache-2.0
//
// NodePlan: what a job needs on this node, worked out from its options, its job file and the
// policy. Made with the user's rights; root takes it over as bytes and checks the mounts again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "job/layout.hpp"
#include "job/plan.hpp"
#include "job/policy.hpp"
#include "spank/helper/request.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

// A secret that root reads for the job, as the site policy says.
struct WantedSecret {
    std::string variable;  // that gets it; empty: the account's key of a mount
    std::string target;    // of that mount
    job::SecretReference reference;

    bool operator==(const WantedSecret&) const = default;
    template <class Archive>
    void fields(Archive& archive) {
        archive(variable, target, reference);
    }
};

struct NodePlan {
    std::vector<job::Mount> mounts;
    std::vector<WantedSecret> secrets;
    std::vector<std::string> environment;     // "NAME=VALUE"
    std::string log_directory;                // as the job sees it; empty: none
    std::string shared_directory;             // the part of it that is no job's own; empty: none
    std::vector<job::JobsDirectory> outputs;  // the job's outputDirectories
    std::string log_node;                     // in the names of the logs; empty in a one-node job
    std::string record;                       // the record directory; empty: none
    std::string shared_temp;                  // empty: none
    std::string directory;                    // where a job file's processes start; empty: no file
    std::string command;                      // of the preparation; empty: none
    std::string image;                        // of the job's container; empty: none
    std::string shm_size;                     // of its /dev/shm, in bytes; empty: the site's
    std::string note;                         // of the policy about it
    std::string script;   // must exist once the node is prepared; empty: unknown
    std::string failure;  // why the job cannot run here; empty: it can

    bool operator==(const NodePlan&) const = default;
    template <class Archive>
    void fields(Archive& archive) {
        archive(mounts, secrets, environment, log_directory, shared_directory, outputs, log_node,
                record, shared_temp, directory, command, image, shm_size, note, script, failure);
    }
};

// Call with the user's rights. An error is a job file that cannot be used at all; what is found out
// later is the plan's failure, so that it can be written to the job's logs.
sys::Result<NodePlan> make_node_plan(const Request&, const job::SitePolicy&);

// The job's temporary directory, as the node has it. In /tmp, where everybody may make directories,
// nobody can have made it before. The job itself finds it at job::kTemporary below the mount root.
std::string job_temp(const Request&, const job::SitePolicy&);

// For root's side, which believes nothing in it. The error: bytes that no plan makes.
std::string to_bytes(const NodePlan&);
sys::Result<NodePlan> node_plan_from_bytes(std::string_view bytes);

// A path as the job sees it, seen without the job's mounts: from a node where they are not made.
// Empty: it is on a mount that exists in the job only. job_temp: as above.
std::string outside_path(const std::string& path, const NodePlan&, const job::SitePolicy&,
                         const std::string& job_temp);

}  // namespace batchai::spank
