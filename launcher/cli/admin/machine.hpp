// SPDX-License-Identifier: Apache-2.0
//
// What can be found out about a machine that is to run Batch AI jobs, for `batchai admin`.
#pragma once

#include <string>
#include <vector>

namespace batchai::cli {

struct Finding {
    std::string check;
    std::string state;  // ok, warning, error
    std::string message;
};

class Findings {
  public:
    void ok(const std::string& check, const std::string& message) {
        list_.push_back({check, "ok", message});
    }
    void warning(const std::string& check, const std::string& message) {
        list_.push_back({check, "warning", message});
    }
    void error(const std::string& check, const std::string& message) {
        list_.push_back({check, "error", message});
        good_ = false;
    }
    bool good() const { return good_; }
    const std::vector<Finding>& list() const { return list_; }

  private:
    std::vector<Finding> list_;
    bool good_ = true;
};

// What the plugin's line says, or leaves to be the usual.
struct Installation {
    std::string libexec = BATCHAI_LIBEXEC;
    std::string policy = "/etc/batchai/batchai.toml";
};

// machine_check.cpp: policy, plugstack line, versions and permissions. Reads only; needs no root
// and, where plugstack names a file, no Slurm.
Installation check_machine(const std::string& plugstack, Findings&);

// machine_trial.cpp: makes the policy's mounts for a moment, starts ranks under a PMIx server,
// looks for what ended jobs have left. Mounts and leftovers need root.
void try_machine(const Installation&, Findings&);

}  // namespace batchai::cli
