// SPDX-License-Identifier: Apache-2.0
//
// PrepArguments: the options of batchai-prep. The plugin writes this command line, and batchai-prep
// reads it. The plugin has no C++ library, so this header includes none of it: each side chooses
// its types for Text and Number. batchai-launch writes some of these options itself
// (launcher/root/job_file_run.cpp).
#pragma once

namespace batchai::spank {

template <class Text, class Number = Text>
struct PrepArguments {
    Text output{};     // directory of the logs; it must exist
    Text outside{};    // the same without the job's mounts; empty: messages name files only
    Text log_node{};   // in the names of the logs; empty in a one-node job
    Text node{};       // in messages
    Number seconds{};  // time limit of the command
    Text directory{};  // where the command runs; empty: the current directory
    Text record{};     // record directory; empty: none
    // Days for which a preparation that succeeded is not run again. 0: it always runs.
    Number cache_days{};
    Text mounts{};   // a text that is equal for equal mounts
    Text volumes{};  // directories that must exist, one on each line; empty: none
    Text expect{};   // file that must exist afterwards; empty: none
    Text failed{};   // log this line of a preparation that was killed, and run nothing

    // Calls option(name, value, help) for each.
    template <class Option>
    void for_each(Option&& option) {
        option("--output", output, "directory of the logs");
        option("--outside", outside,
               "path of that directory in messages (default: messages name only its files)");
        option("--node", log_node, "name of the node in the names of the logs");
        option("--name", node, "name of the node in messages (default: that of --node)");
        option("--timeout", seconds, "seconds after which the command is killed");
        option("--directory", directory, "where the command runs (default: here)");
        option("--record", record, "directory of the job's record");
        option("--cache", cache_days,
               "days for which a preparation that has succeeded is not run again");
        option("--mounts", mounts, "text that describes the job's mounts; --cache compares it");
        option("--volumes", volumes, "directories that must exist, one on each line");
        option("--expect", expect, "file that must exist afterwards");
        option("--failed", failed,
               "run nothing: only log this line, about a preparation that was killed");
    }
};

}  // namespace batchai::spank
