// SPDX-License-Identifier: Apache-2.0
//
// horovodSettings: `python script args` on every rank. The script and the arguments are shell
// text, as in the service: variables, quotes and globs work in them.
#include "job/toolkit/toolkit.hpp"

namespace batchai::job {

Toolkit read_horovod(Reader& reader) {
    HorovodSettings settings;
    settings.script = reader.required_string("pythonScriptFilePath");
    settings.interpreter = reader.string("pythonInterpreterPath");
    settings.arguments = reader.string("commandLineArgs");
    settings.process_count = reader.integer("processCount", 1, kMaxRanks);
    return settings;
}

LaunchPlan plan_of(const HorovodSettings& settings, const SitePolicy& policy, int default_ranks) {
    LaunchPlan plan;
    plan.ranks = settings.process_count.value_or(default_ranks);
    plan.command = settings.interpreter.empty() ? policy.python : settings.interpreter;
    plan.command += " " + settings.script;
    if (!settings.arguments.empty()) plan.command += " " + settings.arguments;
    return plan;
}

}  // namespace batchai::job
