// SPDX-License-Identifier: Apache-2.0
//
// chainerSettings: `python SCRIPT ARGUMENTS` on processCount ranks of MPI, which ChainerMN uses
// through mpi4py.
#include "job/reader.hpp"
#include "job/toolkit/toolkit.hpp"

namespace batchai::job {

namespace {

void read(Reader& reader, ToolkitSettings& settings) {
    read_script(reader, settings);
    settings.arguments = reader.string("commandLineArgs");
    read_process_count(reader, settings);
}

std::vector<ProcessGroup> plan(const ToolkitSettings& settings, const ToolkitContext& context) {
    ProcessGroup ranks;
    ranks.count = settings.process_count.value_or(context.ranks);
    ranks.command = python_line(settings, context, settings.arguments);
    return {ranks};
}

}  // namespace

const Toolkit kChainer = {"chainerSettings", "chainer", true, read, plan};

}  // namespace batchai::job
