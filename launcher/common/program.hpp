// SPDX-License-Identifier: Apache-2.0
//
// Program: the command of a group of ranks. A command line has one program, or several with ":"
// between. A job file has one for each process group of its toolkit. Ranks are numbered program by
// program.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/common/environment.hpp"
#include "sys/codec.hpp"

namespace batchai::launcher {

struct Program {
    int ranks = 0;
    std::vector<std::string> argv;
    // From a job file (job::ProcessGroup). fill_in replaces fields in variables and output.
    std::string name;
    int first_index = 0;
    bool is_mpi = false;
    bool serves = false;
    std::map<std::string, std::string> variables;
    std::string output;  // "DIR/{stream}-{index}.txt"; empty: its output goes to the root
    // From a command line.
    std::map<std::string, std::string> environment = {};  // --env, as it is
    std::string directory = {};                           // --wdir, absolute; empty: the job's
    BATCHAI_FIELDS(ranks, argv, name, first_index, is_mpi, serves, variables, output, environment,
                   directory);
};

// A program and a rank's position in it.
struct InProgram {
    const Program* program = nullptr;
    int place = 0;
    int number = 0;  // of the program, from 0
};
// rank must be a rank of these programs.
InProgram program_of(const std::vector<Program>& programs, int rank);

// Whether a rank's variables name other ranks' addresses.
bool names_hosts(const std::vector<Program>& programs);

// The addresses at which the ranks of a job find each other.
struct Meeting {
    std::string first;                 // HOST:PORT at the node of rank 0
    std::string launch;                // a text that no other launch has
    std::vector<std::string> workers;  // HOST:PORT of each rank; empty: unknown
};
// Replaces {index} and the other fields of job::ProcessGroup by their values for a rank. Other
// braces are kept.
std::string fill_in(std::string_view text, const std::vector<Program>& programs, int rank,
                    const Meeting& meeting);
// The name of the file that gets a rank's standard error, such as "stderr-wk-0.txt"; empty: the
// root gets it.
std::string error_file(const std::vector<Program>& programs, int rank);
// Adds the variables and the environment of the rank's program. They replace variables of the job.
void add_variables(env::Environment& environment, const std::vector<Program>& programs, int rank,
                   const Meeting& meeting);

}  // namespace batchai::launcher
