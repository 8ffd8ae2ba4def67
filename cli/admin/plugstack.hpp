// SPDX-License-Identifier: Apache-2.0
//
// batchai's line in Slurm's plugstack.conf, as slurmd finds it: includes followed, comments
// removed.
#pragma once

#include <string>
#include <vector>

#include "sys/result.hpp"

namespace batchai::cli {

struct PlugstackLine {
    std::string file;
    int number = 0;
    bool required = false;
    std::string plugin;  // as written: a path, or a name below PluginDir
    std::vector<std::string> arguments;

    // The value of "name=value" among the arguments, or `otherwise` if it is missing.
    std::string argument(const std::string& name, const std::string& otherwise) const;
    // Arguments that the plugin does not know (spank/options.cpp).
    std::vector<std::string> unknown_words() const;
    std::string place() const;  // "file:number"
};

// All lines that load spank_batchai.so, in order. An error: a file that cannot be read, or a line
// (also of another plugin) that Slurm cannot use.
// Source: spank(7), CONFIGURATION; Slurm's src/common/plugstack.c, _plugin_stack_parse_line.
sys::Result<std::vector<PlugstackLine>> find_our_lines(const std::string& plugstack_file);

}  // namespace batchai::cli
