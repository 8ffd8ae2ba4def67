// SPDX-License-Identifier: Apache-2.0
//
// tensorFlowSettings: `python SCRIPT` with other arguments for each role:
//   master   worker 0, always there           masterCommandLineArgs           stdout-wk-0.txt
//   worker   workers 1 to workerCount-1       workerCommandLineArgs           stdout-wk-<i>.txt
//   ps       parameterServerCount of them     parameterServerCommandLineArgs  stdout-ps-<i>.txt
// workerCount defaults to the number of nodes, and parameterServerCount to 1 if there are several
// workers. A parameter server never ends by itself: it ends with the last worker.
//
// Each process finds its number in AZ_BATCHAI_TASK_INDEX, all workers (the master first) in
// AZ_BATCHAI_WORKER_HOSTS, and all parameter servers in AZ_BATCHAI_PS_HOSTS. TF_CONFIG does not
// count the master as a worker: there it is the chief.
#include <functional>

#include "job/reader.hpp"
#include "job/toolkit/toolkit.hpp"

namespace batchai::job {

namespace {

constexpr int kMaxTasks = 512;

void read_tensorflow(Reader& reader, ToolkitSettings& settings) {
    read_script(reader, settings);
    settings.master_arguments = reader.string("masterCommandLineArgs");
    settings.worker_arguments = reader.string("workerCommandLineArgs");
    settings.server_arguments = reader.string("parameterServerCommandLineArgs");
    settings.worker_count = reader.integer("workerCount", 1, kMaxTasks);
    settings.server_count = reader.integer("parameterServerCount", 0, kMaxTasks);
}

// A group's variables. type is the group's name in TF_CONFIG.
Environment variables_of(const std::string& type, const std::string& cluster) {
    return {{"AZ_BATCHAI_TASK_INDEX", "{index}"},
            {"AZ_BATCHAI_PS_HOSTS", "{hosts:ps}"},
            {"AZ_BATCHAI_WORKER_HOSTS", "{hosts:chief,worker}"},
            {"TF_CONFIG", R"({"cluster":{)" + cluster + R"(},"task":{"type":")" + type +
                              R"(","index":{place}},"environment":"cloud"})"},
            {"KERAS_BACKEND", "tensorflow"}};
}

std::vector<ProcessGroup> plan_tensorflow(const ToolkitSettings& settings,
                                          const ToolkitContext& context) {
    const int all_workers = settings.worker_count.value_or(context.nodes);

    ProcessGroup master;
    master.name = "chief";
    master.count = 1;
    master.command = python_line(settings, context, settings.master_arguments);
    master.output = "wk-{index}";

    ProcessGroup workers;
    workers.name = "worker";
    workers.count = all_workers - 1;
    workers.first_index = 1;
    workers.command = python_line(settings, context, settings.worker_arguments);
    workers.output = "wk-{index}";

    ProcessGroup servers;
    servers.name = "ps";
    servers.count = settings.server_count.value_or(all_workers > 1 ? 1 : 0);
    servers.placement = Placement::in_turn;
    servers.serves = true;
    servers.command = python_line(settings, context, settings.server_arguments);
    servers.output = "ps-{index}";

    std::vector<ProcessGroup> groups;
    std::string cluster;
    for (ProcessGroup& group : {std::ref(master), std::ref(workers), std::ref(servers)}) {
        if (group.count == 0) continue;
        cluster += (cluster.empty() ? "\"" : ",\"") + group.name + "\":{json:" + group.name + "}";
        groups.push_back(group);
    }
    for (ProcessGroup& group : groups) group.variables = variables_of(group.name, cluster);
    return groups;
}

}  // namespace

const Toolkit kTensorFlow = {"tensorFlowSettings", "tensorflow", false, read_tensorflow,
                             plan_tensorflow};

}  // namespace batchai::job
