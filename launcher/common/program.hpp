// SPDX-License-Identifier: Apache-2.0
//
// Program: the command of a group of ranks. A command line has one program; a job file has one for
// each group of processes of its toolkit. Ranks are numbered program by program.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/common/environment.hpp"

namespace batchai::launcher {

struct Program {
    int ranks = 0;
    std::vector<std::string> argv;
    // Of a job file (job::ProcessGroup), with what fill_in replaces in variables and output.
    std::string name;
    int first_index = 0;
    bool is_mpi = false;
    bool serves = false;
    std::map<std::string, std::string> variables;
    std::string output;  // "DIR/{stream}-{index}.txt"; empty: the rank's output goes to the root
    template <class A>
    void fields(A& a) {
        a(ranks, argv, name, first_index, is_mpi, serves, variables, output);
    }
};

// A program and the place of a rank in it.
struct InProgram {
    const Program* program = nullptr;
    int place = 0;
};
// The rank is one of the programs' ranks.
InProgram program_of(const std::vector<Program>& programs, int rank);

// Whether a rank's variables name other ranks' addresses.
bool names_hosts(const std::vector<Program>& programs);

// Where the ranks of a job find each other.
struct Meeting {
    std::string first;                 // HOST:PORT at the node of rank 0
    std::string launch;                // a text that is this launch's own
    std::vector<std::string> workers;  // HOST:PORT of each rank; empty: not known
};
// Replaces {index} and the like (job::ProcessGroup) as they are for a rank; other braces stay.
std::string fill_in(std::string_view text, const std::vector<Program>& programs, int rank,
                    const Meeting& meeting);
// The variables of the rank's program. The toolkit's replace those of the job's own.
void add_variables(env::Environment& environment, const std::vector<Program>& programs, int rank,
                   const Meeting& meeting);

}  // namespace batchai::launcher
