// SPDX-License-Identifier: Apache-2.0
//
// customToolkitSettings: a command line, once, on the first node. It may start MPI itself, with
// $AZ_BATCHAI_MPI_HOST_FILE or Slurm's variables, on all nodes of the job.
#include "job/reader.hpp"
#include "job/toolkit/toolkit.hpp"

namespace batchai::job {

namespace {

void read_custom(Reader& reader, ToolkitSettings& settings) {
    settings.command_line = reader.required_string("commandLine");
    // Public job files have this key.
    reader.note_ignored("processCount", "the command starts its processes itself");
}

std::vector<ProcessGroup> plan_custom(const ToolkitSettings& settings, const ToolkitContext&) {
    ProcessGroup script;
    script.count = 1;
    script.placement = Placement::first_node;
    script.command = settings.command_line;
    return {script};
}

}  // namespace

const Toolkit kCustom = {"customToolkitSettings", "custom", false, read_custom, plan_custom};

// customMpiSettings: a command line, without mpirun, on processCount ranks of MPI.
namespace {

void read_custom_mpi(Reader& reader, ToolkitSettings& settings) {
    settings.command_line = reader.required_string("commandLine");
    read_process_count(reader, settings);
}

std::vector<ProcessGroup> plan_custom_mpi(const ToolkitSettings& settings,
                                          const ToolkitContext& context) {
    return mpi_ranks(settings, context, settings.command_line);
}

}  // namespace

const Toolkit kCustomMpi = {"customMpiSettings", "custommpi", true, read_custom_mpi,
                            plan_custom_mpi};

}  // namespace batchai::job
