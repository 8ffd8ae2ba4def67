// SPDX-License-Identifier: Apache-2.0
//
// list-usages: the nodes and jobs that the user has in Slurm now, and the limits of the user's
// associations.
#include "cli/command_options.hpp"
#include "cli/output/result_table.hpp"
#include "cli/verbs.hpp"
#include "slurm/limits.hpp"

namespace batchai::cli {
namespace {

using nlohmann::json;

json usage(const char* name, std::int64_t value, const std::optional<std::int64_t>& limit) {
    return {{"currentValue", value},
            {"limit", limit ? json(*limit) : json()},
            {"name", {{"localizedValue", name}, {"value", name}}},
            {"unit", "Count"}};
}

int list(const Session& session) {
    const auto used = slurm::own_usage();
    if (!used) return fail(kEnvironment, used.error());
    const auto limits = slurm::own_limits();
    if (!limits) note("limits are not known: " + limits.error().message);
    const slurm::OwnLimits known = limits ? *limits : slurm::OwnLimits{};
    const json rows = json::array({usage("Nodes in use", used->nodes, known.nodes),
                                   usage("Running jobs", used->running, known.running),
                                   usage("Submitted jobs", used->submitted, known.submitted)});
    return session.print(rows, [](const json& result) {
        return table_of(result,
                        {{"Value", "name/value"}, {"Usage", "currentValue"}, {"Limit", "limit"}});
    });
}

}  // namespace

void add_usages(CLI::App& parent, Session& session) {
    CLI::App* verb = add_verb(parent, session, "list-usages",
                              "your nodes and jobs beside the limits of your associations",
                              "batchai list-usages -o table");
    ignore_options(*verb, {"-l,--location"});
    verb->callback([&session] { session.action = [&session] { return list(session); }; });
}

}  // namespace batchai::cli
