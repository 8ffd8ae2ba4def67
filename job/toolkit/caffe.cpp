// SPDX-License-Identifier: Apache-2.0
//
// caffeSettings, on processCount ranks of MPI, one of:
//   configFilePath:       caffe train --solver=CONFIG ARGUMENTS
//   pythonScriptFilePath: python SCRIPT ARGUMENTS
#include "job/reader.hpp"
#include "job/toolkit/toolkit.hpp"

namespace batchai::job {

namespace {

void read_caffe(Reader& reader, ToolkitSettings& settings) {
    if (reader.has("pythonScriptFilePath")) {
        read_script(reader, settings);
        if (!reader.string("configFilePath").empty())
            reader.error("configFilePath",
                         "a Caffe job has either this or pythonScriptFilePath, not both");
    } else {
        settings.config = reader.required_string("configFilePath");
        reader.note_ignored("pythonInterpreterPath", "there is no pythonScriptFilePath");
    }
    settings.arguments = reader.string("commandLineArgs");
    read_process_count(reader, settings);
}

std::vector<ProcessGroup> plan_caffe(const ToolkitSettings& settings,
                                     const ToolkitContext& context) {
    if (settings.config.empty()) return plan_python_ranks(settings, context);
    return mpi_ranks(settings, context,
                     with_arguments("caffe train --solver=" + settings.config, settings.arguments));
}

}  // namespace

const Toolkit kCaffe = {"caffeSettings", "caffe", true, read_caffe, plan_caffe};

// caffe2Settings: `python SCRIPT ARGUMENTS` once on each node. AZ_BATCHAI_TASK_INDEX is the
// process's shard. The processes find each other in $AZ_BATCHAI_SHARED_JOB_TEMP. Each has an output
// file of its own.
namespace {

void read_caffe2(Reader& reader, ToolkitSettings& settings) {
    read_script(reader, settings);
    settings.arguments = reader.string("commandLineArgs");
    reader.note_ignored("processCount", "Caffe2 has one process on each node");
}

std::vector<ProcessGroup> plan_caffe2(const ToolkitSettings& settings,
                                      const ToolkitContext& context) {
    ProcessGroup shards;
    shards.count = context.nodes;
    shards.command = python_line(settings, context, settings.arguments);
    shards.variables = {{"AZ_BATCHAI_TASK_INDEX", "{index}"}};
    shards.output = "{index}";
    return {shards};
}

}  // namespace

const Toolkit kCaffe2 = {"caffe2Settings", "caffe2", false, read_caffe2, plan_caffe2};

}  // namespace batchai::job
