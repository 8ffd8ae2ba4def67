// SPDX-License-Identifier: Apache-2.0
//
// The preparation of one node, with its logs: stdout-job_prep-<node>.txt,
// stderr-job_prep-<node>.txt, execution-<node>.log and the events of the record directory.
#pragma once

#include <string>

#include "spank/prep_arguments.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

struct Preparation : PrepArguments<std::string, int> {
    Preparation() { seconds = 600; }

    std::string command;  // empty: nothing to run
    std::string note;     // line of the site policy about the command; empty: none
};

// An error is the line for the user, which is in the logs already.
sys::Result<void> prepare(const Preparation&);

// Logs the line of a failure and its event, for a preparation that was killed.
void log_failure(const Preparation&, const std::string& line);

}  // namespace batchai::spank
