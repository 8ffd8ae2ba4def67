// SPDX-License-Identifier: Apache-2.0
//
// batchai: the command line of Azure Batch AI, over Slurm.
#include "cli/command.hpp"

int main(int argc, char** argv) {
    return batchai::cli::run(argc, argv);
}
