// SPDX-License-Identifier: Apache-2.0
//
// pyTorchSettings: `python SCRIPT ARGUMENTS` on processCount ranks. torch.distributed connects the
// ranks by communicationBackend:
//   MPI:             as MPI does. One output for all ranks.
//   Gloo:            init_process_group(init_method="file://...") in the shared directory.
//   TCP, NCCL, none: init_process_group(init_method="tcp://...") at the first rank's node.
// With every backend except MPI, ranks have AZ_BATCHAI_TASK_INDEX, their rank, and an output file
// of their own. The service had no NCCL.
#include <algorithm>

#include "job/names.hpp"
#include "job/reader.hpp"
#include "job/toolkit/toolkit.hpp"

namespace batchai::job {

namespace {

void read_pytorch(Reader& reader, ToolkitSettings& settings) {
    read_python_ranks(reader, settings);
    const std::string backend = reader.string("communicationBackend");
    settings.backend = lower_case(backend);
    const auto known = {"", "tcp", "gloo", "mpi", "nccl"};
    if (std::find(known.begin(), known.end(), settings.backend) == known.end())
        reader.error("communicationBackend",
                     "'" + backend + "' is not one of TCP, Gloo, MPI and NCCL");
}

std::vector<ProcessGroup> plan_pytorch(const ToolkitSettings& settings,
                                       const ToolkitContext& context) {
    ProcessGroup ranks;
    ranks.is_mpi = settings.backend == "mpi";
    ranks.count = settings.process_count.value_or(context.ranks);
    ranks.command = python_line(settings, context, settings.arguments);
    if (!settings.backend.empty()) ranks.variables["AZ_BATCHAI_PYTORCH_BACKEND"] = settings.backend;
    if (ranks.is_mpi) return {ranks};
    ranks.variables["AZ_BATCHAI_TASK_INDEX"] = "{index}";
    ranks.variables["AZ_BATCHAI_PYTORCH_INIT_METHOD"] =
        settings.backend == "gloo" ? "file://$AZ_BATCHAI_SHARED_JOB_TEMP/pytorch-{launch}"
                                   : "tcp://{first}";
    ranks.output = "{index}";
    return {ranks};
}

}  // namespace

const Toolkit kPyTorch = {"pyTorchSettings", "pytorch", true, read_pytorch, plan_pytorch};

}  // namespace batchai::job
