// SPDX-License-Identifier: Apache-2.0
//
// Checks of a machine that is to run Batch AI jobs, for `batchai admin`. Each check is a row of a
// table: its name, what it looks at, and the cure for its findings.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "job/policy.hpp"
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

// batchai's line in Slurm's plugstack.conf, as slurmd finds it: includes followed, comments
// removed.
struct PlugstackLine {
    std::string file;
    int number = 0;
    bool required = false;
    std::string plugin;  // as written: a path, or a name below PluginDir
    std::vector<std::string> arguments;

    // The value of "name=value" among the arguments, or `otherwise` if it is missing.
    std::string argument(const std::string& name, const std::string& otherwise) const;
    // Arguments that the plugin does not know (spank/options.cpp).
    std::vector<std::string> unknown_words() const;
    std::string place() const;  // "file:number"
};

// All lines that load spank_batchai.so, in order. An error: a file that cannot be read, or a line
// (also of another plugin) that Slurm cannot use.
// Source: spank(7), CONFIGURATION; Slurm's src/common/plugstack.c, _plugin_stack_parse_line.
sys::Result<std::vector<PlugstackLine>> find_our_lines(const std::string& plugstack_file);

// The releases that a plugin file was built for. Read from the text that spank/plugin.cpp puts into
// the file: a plugin that was built for another Slurm cannot be loaded.
struct BuiltFor {
    std::string batchai;  // "0.1.0"
    std::string slurm;    // "22.05.8"
};

// An error names the file.
sys::Result<BuiltFor> built_for(const std::string& plugin);

// The data that the checks use. It is read once, before them, and nothing is changed.
struct Machine {
    sys::Result<std::string> slurm = sys::Error{};  // `scontrol show config`
    bool is_slurms_plugstack = true;                // whether it is the file that Slurm names
    std::string plugstack = "/etc/slurm/plugstack.conf";
    sys::Result<std::vector<PlugstackLine>> lines = sys::Error{};
    std::string plugin;  // the file that the line names; empty: plugstack.conf has no such line
    std::string libexec;
    std::string policy_file = "/etc/batchai/batchai.toml";
    sys::Result<job::SitePolicy> policy = sys::Error{};
    std::string home;  // "DIRECTORY" or "DIRECTORY=IDENTITY" (HomeIdentity); empty: no such check

    const PlugstackLine* line() const {
        return lines && !lines->empty() ? &lines->front() : nullptr;
    }
};

// plugstack: a file in place of the one that Slurm names; empty: Slurm's.
Machine read_machine(const std::string& plugstack);

class Report;
struct Check {
    const char* name;
    const char* looks_at;
    const char* cure;  // ends each of its warnings and errors; empty: these have their own
    void (*look)(const Machine&, Report&);
};

// Collects the findings of one check.
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

// Checks that change nothing. They do not need root and, if plugstack names a file, not Slurm. If
// run as root, they run and read nothing that another user can have put there.
const std::vector<Check>& checks();

// Trials: they make each mount of the policy and remove it again, start ranks under a PMIx server,
// and look for leftovers of ended jobs. Mounts and leftovers need root.
const std::vector<Check>& trials();

std::vector<Finding> run(const std::vector<Check>&, const Machine&);
bool has_error(const std::vector<Finding>&);

// The parts of checks(), one for each subject.
std::vector<Check> slurm_checks();    // check_slurm.cpp
std::vector<Check> program_checks();  // check_programs.cpp
std::vector<Check> policy_checks();   // check_policy.cpp
std::vector<Check> home_checks();     // home.cpp

// Whether the policy has an entry of the type.
bool uses(const job::SitePolicy&, job::MountType);

// Whether only root can change what a path leads to. Checks owners even if the caller is not root.
sys::Result<void> is_roots_alone(const std::string& path);

}  // namespace batchai::cli
