// SPDX-License-Identifier: Apache-2.0
//
// The toolkits, one file each. A toolkit reads its settings, and plans its processes and their
// variables. A plan is data (job::ProcessGroup), and batchai-launch makes ranks of it. A new
// toolkit is a file and a row in toolkit.cpp.
#pragma once

#include <string>
#include <vector>

#include "job/plan.hpp"
#include "job/spec.hpp"

namespace batchai::job {

class Reader;

// Facts about the job and the site besides the settings.
struct ToolkitContext {
    std::string python;  // the site's
    int nodes = 1;
    int ranks = 1;  // without processCount: one per node, or per GPU
};

struct Toolkit {
    const char* key;   // key in properties: "horovodSettings"
    const char* type;  // the service's toolType: "horovod"
    bool has_process_count;
    // Reads the settings and reports those that cannot run.
    void (*read)(Reader&, ToolkitSettings&);
    std::vector<ProcessGroup> (*plan)(const ToolkitSettings&, const ToolkitContext&);
};

const std::vector<Toolkit>& toolkits();

// "horovodSettings, customMpiSettings, ...", for messages.
std::string toolkit_names();

extern const Toolkit kCaffe, kCaffe2, kChainer, kCntk, kCustom, kCustomMpi, kHorovod, kPyTorch,
    kTensorFlow;

// The most processes that a file may ask for.
inline constexpr int kMaxRanks = 1'000'000;

// Reads the keys that several toolkits have: the script, its interpreter and its arguments, and
// processCount.
void read_script(Reader&, ToolkitSettings&);
void read_process_count(Reader&, ToolkitSettings&);
// "python script arguments". All three are shell text, as in the service, with variables, quotes
// and globs.
std::string python_line(const ToolkitSettings&, const ToolkitContext&,
                        const std::string& arguments);
// A command on processCount ranks of MPI.
std::vector<ProcessGroup> mpi_ranks(const ToolkitSettings&, const ToolkitContext&,
                                    const std::string& command);
// Toolkits that only run `python SCRIPT commandLineArgs` on processCount ranks.
void read_python_ranks(Reader&, ToolkitSettings&);
std::vector<ProcessGroup> plan_python_ranks(const ToolkitSettings&, const ToolkitContext&);
// A command with its arguments, if it has any.
std::string with_arguments(const std::string& command, const std::string& arguments);

}  // namespace batchai::job
