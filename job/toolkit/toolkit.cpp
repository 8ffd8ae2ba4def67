// SPDX-License-Identifier: Apache-2.0
#include "job/toolkit/toolkit.hpp"

#include "job/reader.hpp"

namespace batchai::job {

const std::vector<Toolkit>& toolkits() {
    static const std::vector<Toolkit> all = {kHorovod, kCustomMpi, kCustom, kTensorFlow, kPyTorch,
                                             kCntk,    kChainer,   kCaffe,  kCaffe2};
    return all;
}

std::string toolkit_names() {
    std::string names;
    for (const Toolkit& toolkit : toolkits())
        names += (names.empty() ? "" : ", ") + std::string(toolkit.key);
    return names;
}

void read_script(Reader& reader, ToolkitSettings& settings) {
    settings.script = reader.required_string("pythonScriptFilePath");
    settings.interpreter = reader.string("pythonInterpreterPath");
}

void read_process_count(Reader& reader, ToolkitSettings& settings) {
    settings.process_count = reader.integer("processCount", 1, kMaxRanks);
}

std::string with_arguments(const std::string& command, const std::string& arguments) {
    return arguments.empty() ? command : command + " " + arguments;
}

std::string python_line(const ToolkitSettings& settings, const ToolkitContext& context,
                        const std::string& arguments) {
    const std::string& python =
        settings.interpreter.empty() ? context.python : settings.interpreter;
    return with_arguments(python + " " + settings.script, arguments);
}

void read_python_ranks(Reader& reader, ToolkitSettings& settings) {
    read_script(reader, settings);
    settings.arguments = reader.string("commandLineArgs");
    read_process_count(reader, settings);
}

std::vector<ProcessGroup> mpi_ranks(const ToolkitSettings& settings, const ToolkitContext& context,
                                    const std::string& command) {
    ProcessGroup ranks;
    ranks.is_mpi = true;
    ranks.count = settings.process_count.value_or(context.ranks);
    ranks.command = command;
    return {ranks};
}

std::vector<ProcessGroup> plan_python_ranks(const ToolkitSettings& settings,
                                            const ToolkitContext& context) {
    return mpi_ranks(settings, context, python_line(settings, context, settings.arguments));
}

// chainerSettings: `python SCRIPT ARGUMENTS` on processCount ranks of MPI. ChainerMN uses MPI
// through mpi4py.
const Toolkit kChainer = {"chainerSettings", "chainer", true, read_python_ranks, plan_python_ranks};

// horovodSettings: `python SCRIPT ARGUMENTS` on processCount ranks. Horovod, or MPI below it,
// connects the ranks.
const Toolkit kHorovod = {"horovodSettings", "horovod", true, read_python_ranks, plan_python_ranks};

}  // namespace batchai::job
