// SPDX-License-Identifier: Apache-2.0
//
// cntkSettings, on processCount ranks of MPI, in one of two languages:
//   Python:      python SCRIPT ARGUMENTS
//   BrainScript: cntk configFile=CONFIG ARGUMENTS
// Without languageType, the given file decides the language. Keras uses CNTK as its backend.
#include "job/names.hpp"
#include "job/reader.hpp"
#include "job/toolkit/toolkit.hpp"

namespace batchai::job {

namespace {

void read_cntk(Reader& reader, ToolkitSettings& settings) {
    const std::string language = reader.string("languageType");
    const bool has_script = reader.has("pythonScriptFilePath");
    const bool is_python = equal_but_case(language, "python");
    if (!language.empty() && !is_python && !equal_but_case(language, "brainscript"))
        reader.error("languageType", "expected Python or BrainScript, found '" + language + "'");
    if (is_python || (language.empty() && has_script)) {
        read_script(reader, settings);
        reader.note_ignored("configFilePath", "the language is Python");
    } else {
        settings.config = reader.required_string("configFilePath");
        for (const char* key : {"pythonScriptFilePath", "pythonInterpreterPath"})
            reader.note_ignored(key, "the language is BrainScript");
    }
    settings.arguments = reader.string("commandLineArgs");
    read_process_count(reader, settings);
}

std::vector<ProcessGroup> plan_cntk(const ToolkitSettings& settings,
                                    const ToolkitContext& context) {
    auto groups =
        settings.config.empty()
            ? plan_python_ranks(settings, context)
            : mpi_ranks(settings, context,
                        with_arguments("cntk configFile=" + settings.config, settings.arguments));
    groups.front().variables = {{"KERAS_BACKEND", "cntk"}};
    return groups;
}

}  // namespace

const Toolkit kCntk = {"cntkSettings", "cntk", true, read_cntk, plan_cntk};

}  // namespace batchai::job
