// SPDX-License-Identifier: Apache-2.0
//
// What can be found out about a machine that is to run Batch AI jobs, for `batchai admin`. Each
// check is a row of a table: its name, what it looks at, and what to do about what it finds.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "job/policy.hpp"
#include "launcher/cli/admin/plugstack.hpp"
#include "sys/result.hpp"

namespace batchai::cli {

enum class State { ok, warning, error };
const char* name_of(State);

struct Finding {
    std::string check;
    State state = State::ok;
    std::string message;
    bool operator==(const Finding&) const = default;
};

// Read once, before the checks. Reads only.
struct Machine {
    sys::Result<std::string> slurm = sys::Error{};  // `scontrol show config`
    bool is_slurms_plugstack = true;                // the file that Slurm itself reads
    std::string plugstack = "/etc/slurm/plugstack.conf";
    sys::Result<std::vector<PlugstackLine>> lines = sys::Error{};
    std::string plugin;  // the file that the line names; empty: there is no line
    std::string libexec;
    std::string policy_file = "/etc/batchai/batchai.toml";
    sys::Result<job::SitePolicy> policy = sys::Error{};
    std::string home;  // "DIRECTORY" or "DIRECTORY=IDENTITY" (home.hpp); empty: not asked about

    const PlugstackLine* line() const {
        return lines && !lines->empty() ? &lines->front() : nullptr;
    }
};

// plugstack: empty: the file that Slurm names.
Machine read_machine(const std::string& plugstack);

class Report;
struct Check {
    const char* name;
    const char* looks_at;
    const char* cure;  // ends each of its warnings and errors; empty: those say it themselves
    void (*look)(const Machine&, Report&);
};

// Takes what one check finds.
class Report {
  public:
    Report(const Check& check, std::vector<Finding>& findings)
        : check_(check), findings_(findings) {}

    void ok(const std::string& what) { findings_.push_back({check_.name, State::ok, what}); }
    void warning(const std::string& what) { add(State::warning, what); }
    void error(const std::string& what) { add(State::error, what); }

  private:
    void add(State, const std::string& what);

    const Check& check_;
    std::vector<Finding>& findings_;
};

// Need no root and, where plugstack names a file, no Slurm. Read only; as root they run and read
// nothing that another user could have put there.
const std::vector<Check>& checks();

// Make the policy's mounts for a moment, start ranks under a PMIx server, look for what ended jobs
// have left. Mounts and leftovers need root.
const std::vector<Check>& trials();

std::vector<Finding> run(const std::vector<Check>&, const Machine&);
bool has_error(const std::vector<Finding>&);

// The rows of the table, by what they look at: each a part of checks().
std::vector<Check> slurm_checks();    // check_slurm.cpp: Slurm, its configuration, the plugin
std::vector<Check> program_checks();  // check_programs.cpp: our programs, and what they need
std::vector<Check> policy_checks();   // check_policy.cpp: the site policy and what it names
std::vector<Check> home_checks();     // home.cpp

// Whether only root can change what a path leads to. Checks owners even if the caller is not root.
sys::Result<void> is_roots_alone(const std::string& path);

}  // namespace batchai::cli
