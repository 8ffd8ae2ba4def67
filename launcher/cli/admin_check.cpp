// SPDX-License-Identifier: Apache-2.0
//
// admin check: whether this machine is set up to run Batch AI jobs, as `visudo -c` tells of
// sudoers. Reads only; needs no root and, with --plugstack, no Slurm.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>

#include "job/policy.hpp"
#include "launcher/cli/external.hpp"
#include "launcher/cli/options.hpp"
#include "launcher/cli/plugstack.hpp"
#include "launcher/cli/trust.hpp"
#include "launcher/cli/verbs.hpp"

namespace batchai::cli {
namespace {

namespace fs = std::filesystem;

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

// "Key   = value" of `scontrol show config`.
std::string value_of(const std::string& config, const std::string& key) {
    std::istringstream lines(config);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t equals = line.find(" = ");
        if (equals != line.npos && line.starts_with(key + " ")) return line.substr(equals + 3);
    }
    return {};
}

// "22.05" of "22.05.8": what a plugin must be built for.
std::string release_of(const std::string& version) {
    return version.substr(0, version.find('.', version.find('.') + 1));
}

struct Slurm {
    std::string version;
    std::string plugin_directories;
    std::string plugstack = "/etc/slurm/plugstack.conf";
};

Slurm ask_slurm(Findings& findings) {
    Slurm slurm;
    const auto config = run_program({"scontrol", "show", "config"});
    if (!config || config->status != 0) {
        findings.warning("slurm", "scontrol show config: " +
                                      (config ? first_line(config->err) : config.error().message));
        return slurm;
    }
    slurm.version = value_of(config->out, "SLURM_VERSION");
    slurm.plugin_directories = value_of(config->out, "PluginDir");
    slurm.plugstack = value_of(config->out, "PlugStackConfig");
    if (release_of(slurm.version) == release_of(SLURM_VERSION)) {
        findings.ok("slurm", slurm.version);
    } else {
        findings.error("slurm",
                       fmt::format("is {}, batchai was built for {}: build it against this "
                                   "release's headers",
                                   slurm.version, SLURM_VERSION));
    }
    return slurm;
}

void check_owner(Findings& findings, const std::string& check, const std::string& path) {
    const auto trusted = check_root_owned(path);
    if (trusted) {
        findings.ok(check, path);
    } else {
        findings.error(check, trusted.error().message);
    }
}

// A plugin without a directory is looked for in PluginDir, as Slurm does.
std::string plugin_path(const std::string& plugin, const std::string& directories) {
    std::istringstream list(directories);
    for (std::string directory; plugin[0] != '/' && std::getline(list, directory, ':');)
        if (fs::exists(fs::path(directory) / plugin)) return fs::path(directory) / plugin;
    return plugin;
}

std::optional<PlugstackLine> check_plugstack(Findings& findings, const std::string& file) {
    const auto lines = find_our_lines(file);
    if (!lines) {
        findings.error("plugstack", lines.error().message);
        return std::nullopt;
    }
    if (lines->empty()) {
        findings.error("plugstack", file + ": no line loads spank_batchai.so (spank_batchai(8))");
        return std::nullopt;
    }
    const PlugstackLine& line = lines->front();
    const std::string place = fmt::format("{}:{}", line.file, line.number);
    if (lines->size() > 1) {
        findings.error("plugstack", fmt::format("{} and {}:{} both load spank_batchai.so: keep one",
                                                place, (*lines)[1].file, (*lines)[1].number));
    } else if (!line.required) {
        findings.warning("plugstack", place +
                                          ": 'optional': where the plugin cannot be loaded jobs "
                                          "run without their mounts; write 'required'");
    } else {
        findings.ok("plugstack", place);
    }
    return line;
}

void check_policy(Findings& findings, const std::string& file) {
    const auto policy = job::load_policy(file);
    if (!policy) {
        std::istringstream lines(policy.error().message);
        for (std::string line; std::getline(lines, line);) findings.error("policy", line);
        return;
    }
    check_owner(findings, "policy", file);
    for (const auto& share : policy->shares)
        if (!share.login_path.empty() && !fs::is_directory(share.login_path))
            findings.warning("share", fmt::format("{}: login_path {} is no directory here",
                                                  share.share, share.login_path));
}

Findings check(const std::string& plugstack) {
    Findings findings;
    Slurm slurm = ask_slurm(findings);
    if (!plugstack.empty()) slurm.plugstack = plugstack;
    const auto line = check_plugstack(findings, slurm.plugstack);
    if (line) check_owner(findings, "plugin", plugin_path(line->plugin, slurm.plugin_directories));
    const std::string libexec = line ? line->argument("libexec", BATCHAI_LIBEXEC) : BATCHAI_LIBEXEC;
    for (const char* program : {"batchai-helper", "batchai-prep", "batchai-check"})
        check_owner(findings, "program", libexec + "/" + program);
    const std::string usual = "/etc/batchai/batchai.toml";
    check_policy(findings, line ? line->argument("policy", usual) : usual);
    return findings;
}

int run(const Session& session, const std::string& plugstack, bool json) {
    const Findings findings = check(plugstack);
    auto rows = nlohmann::json::array();
    for (const Finding& finding : findings.list()) {
        rows.push_back(
            {{"check", finding.check}, {"state", finding.state}, {"message", finding.message}});
        if (!json) fmt::print("{:<8} {:<10} {}\n", finding.state, finding.check, finding.message);
    }
    if (json)
        if (const int code = session.print(rows); code != kOk) return code;
    return findings.good() ? kOk : kFailed;
}

}  // namespace

void add_admin_check(CLI::App& parent, Session& session) {
    CLI::App* verb =
        add_verb(parent, session, "check",
                 "check policy, plugstack line, versions and permissions on this machine",
                 "batchai admin check");
    struct Args {
        std::string plugstack;
        bool json = false;
    };
    const auto args = std::make_shared<Args>();
    verb->add_option("--plugstack", args->plugstack,
                     "plugstack.conf to look at, in the place of the one that Slurm names");
    verb->add_flag("--json", args->json, "the findings as JSON");
    verb->callback([args, &session] {
        session.action = [args, &session] { return run(session, args->plugstack, args->json); };
    });
}

}  // namespace batchai::cli
