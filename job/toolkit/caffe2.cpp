// SPDX-License-Identifier: Apache-2.0
//
// caffe2Settings: `python SCRIPT ARGUMENTS` once on each node. AZ_BATCHAI_TASK_INDEX is the
// process's shard. The processes find each other in $AZ_BATCHAI_SHARED_JOB_TEMP. Each has an output
// file of its own.
#include "job/reader.hpp"
#include "job/toolkit/toolkit.hpp"

namespace batchai::job {

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
