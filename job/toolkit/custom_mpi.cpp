// SPDX-License-Identifier: Apache-2.0
//
// customMpiSettings: a command line, without mpirun, on processCount ranks of MPI.
#include "job/reader.hpp"
#include "job/toolkit/toolkit.hpp"

namespace batchai::job {

namespace {

void read_custom_mpi(Reader& reader, ToolkitSettings& settings) {
    settings.command_line = reader.required_string("commandLine");
    read_process_count(reader, settings);
}

std::vector<ProcessGroup> plan_custom_mpi(const ToolkitSettings& settings,
                                          const ToolkitContext& context) {
    ProcessGroup ranks;
    ranks.is_mpi = true;
    ranks.count = settings.process_count.value_or(context.ranks);
    ranks.command = settings.command_line;
    return {ranks};
}

}  // namespace

const Toolkit kCustomMpi = {"customMpiSettings", "custommpi", true, read_custom_mpi,
                            plan_custom_mpi};

}  // namespace batchai::job
