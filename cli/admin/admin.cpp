// SPDX-License-Identifier: Apache-2.0
//
// admin check and admin doctor: whether a machine is set up to run Batch AI jobs, as `visudo -c`
// checks sudoers. The doctor also makes trials, on this machine or on nodes of Slurm.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/admin/doctor_nodes.hpp"
#include "cli/admin/machine.hpp"
#include "cli/command_options.hpp"
#include "cli/verbs.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

struct AdminArgs {
    std::string plugstack;
    std::string home;
    std::optional<std::string> nodes;  // Slurm's host list; none: this machine
    bool lists = false;
    bool json = false;  // print JSON instead of one line per finding
};

int print_findings(const Session& session, bool json, const std::vector<Finding>& findings) {
    auto rows = nlohmann::json::array();
    for (const Finding& finding : findings) {
        rows.push_back({{"check", finding.check},
                        {"state", name_of(finding.state)},
                        {"message", finding.message}});
        if (!json)
            fmt::print("{:<8} {:<10} {}\n", name_of(finding.state), finding.check,
                       sys::printable(finding.message));
    }
    if (json)
        if (const int code = session.print(rows); code != kOk) return code;
    return has_error(findings) ? kFailed : kOk;
}

// --list: prints the tables of checks and trials.
int print_checks(const Session& session, bool json) {
    auto rows = nlohmann::json::array();
    for (const auto* table : {&checks(), &trials()}) {
        for (const Check& check : *table) {
            const char* verb = table == &checks() ? "check" : "doctor";
            rows.push_back({{"check", check.name},
                            {"verb", verb},
                            {"looksAt", check.looks_at},
                            {"cure", check.cure}});
            if (json) continue;
            fmt::print("{:<8} {:<11} {}\n", verb, check.name, check.looks_at);
            if (*check.cure != '\0') fmt::print("{:20} cure: {}\n", "", check.cure);
        }
    }
    return json ? session.print(rows) : kOk;
}

int run_admin(const Session& session, const AdminArgs& args, bool tries) {
    if (args.lists) return print_checks(session, args.json);
    if (args.nodes) return ask_nodes(session, {*args.nodes, args.plugstack, args.home}, args.json);
    Machine machine = read_machine(args.plugstack);
    machine.home = args.home;
    std::vector<Finding> findings = run(checks(), machine);
    if (tries)
        for (auto& finding : run(trials(), machine)) findings.push_back(std::move(finding));
    return print_findings(session, args.json, findings);
}

enum class Verb { check, doctor };

void add(CLI::App& parent, Session& session, const std::string& name,
         const std::string& description, Verb which) {
    CLI::App* verb = add_verb(parent, session, name, description, "batchai admin " + name);
    const auto args = std::make_shared<AdminArgs>();
    verb->add_option("--plugstack", args->plugstack,
                     "plugstack.conf to look at, in the place of the one that Slurm names");
    verb->add_option("--home", args->home,
                     "a user's home directory that the machine must have, as DIRECTORY, or as "
                     "DIRECTORY=IDENTITY, which --nodes passes to each node");
    if (which == Verb::doctor)
        verb->add_option("--nodes", args->nodes,
                         "ask these nodes through srun, as n[1-4],n7, and print one table");
    else
        verb->add_flag("--list", args->lists,
                       "what check and doctor look at and what to do about it; looks at nothing");
    verb->add_flag("--json", args->json, "the findings as JSON");
    verb->callback([args, which, verb, &session] {
        if (args->json) session.output = "json";
        args->json = args->json || verb->count("--output") > 0 || !session.query.empty();
        session.action = [args, which, &session] {
            return run_admin(session, *args, which == Verb::doctor);
        };
    });
}

}  // namespace

void add_admin(CLI::App& parent, Session& session) {
    add(parent, session, "check",
        "check policy, plugstack line, versions and permissions on this machine", Verb::check);
    add(parent, session, "doctor",
        "check, make every mount of the policy for a moment, start ranks, look for leftovers",
        Verb::doctor);
}

}  // namespace batchai::cli
