// SPDX-License-Identifier: Apache-2.0
//
// The preparation of one node, with its logs: stdout-job_prep-<node>.txt,
// stderr-job_prep-<node>.txt, execution-<node>.log and the events of the record directory.
#pragma once

#include <string>

#include "sys/result.hpp"

namespace batchai::spank {

struct Preparation {
    std::string command;   // empty: nothing to run
    std::string output;    // directory of the logs, which is there
    std::string outside;   // the same without the job's mounts; empty: messages name files only
    std::string log_node;  // in the names of the logs; empty in a one-node job
    std::string node;      // in messages
    std::string record;    // record directory; empty: none
    std::string note;      // line of the site policy about the command; empty: none
    std::string expect;    // file that must exist afterwards; empty: none
    std::string mounts;    // a text that is the same where the job's mounts are
    int seconds = 600;
    int cache_days = 0;  // as long a preparation that has succeeded is not run again; 0: always run
};

// The error is the one line for the user, already in the logs.
sys::Result<void> prepare(const Preparation&);

// Logs the line of a failure, and an event of it, for a preparation that was killed.
void log_failure(const Preparation&, const std::string& line);

}  // namespace batchai::spank
