// SPDX-License-Identifier: Apache-2.0
//
// admin check and admin doctor: whether this machine is set up to run Batch AI jobs, as `visudo -c`
// tells of sudoers; the doctor also tries it.
#include <fmt/format.h>

#include <memory>

#include "launcher/cli/admin/machine.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/verbs.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

struct AdminArgs {
    std::string plugstack;
    bool json = false;  // as the other verbs print, in the place of lines to read
};

int run(const Session& session, const AdminArgs& args, bool trial) {
    Findings findings;
    const Installation installed = check_machine(args.plugstack, findings);
    if (trial) try_machine(installed, findings);
    auto rows = nlohmann::json::array();
    for (const Finding& finding : findings.list()) {
        rows.push_back(
            {{"check", finding.check}, {"state", finding.state}, {"message", finding.message}});
        if (!args.json)
            fmt::print("{:<8} {:<10} {}\n", finding.state, finding.check,
                       sys::printable(finding.message));
    }
    if (args.json)
        if (const int code = session.print(rows); code != kOk) return code;
    return findings.good() ? kOk : kFailed;
}

void add(CLI::App& parent, Session& session, const std::string& name,
         const std::string& description, bool trial) {
    CLI::App* verb = add_verb(parent, session, name, description, "batchai admin " + name);
    const auto args = std::make_shared<AdminArgs>();
    verb->add_option("--plugstack", args->plugstack,
                     "plugstack.conf to look at, in the place of the one that Slurm names");
    verb->add_flag("--json", args->json, "the findings as JSON");
    verb->callback([args, trial, verb, &session] {
        if (args->json) session.output = "json";
        args->json = args->json || verb->count("--output") > 0 || !session.query.empty();
        session.action = [args, trial, &session] { return run(session, *args, trial); };
    });
}

}  // namespace

void add_admin(CLI::App& parent, Session& session) {
    add(parent, session, "check",
        "check policy, plugstack line, versions and permissions on this machine", false);
    add(parent, session, "doctor",
        "check, make every mount of the policy for a moment, start ranks, look for leftovers",
        true);
}

}  // namespace batchai::cli
