// SPDX-License-Identifier: Apache-2.0
//
// The environment of a rank: the inherited variables without those of other launchers, and the
// variables in which each family of programs finds its place. Pure functions, one file per family.
#pragma once

#include <string>
#include <vector>

#include "launcher/common/environment.hpp"
#include "launcher/common/map.hpp"

namespace batchai::launcher::env {

// A rank's place in the job.
struct Place {
    int rank = 0, size = 1;
    int local_rank = 0, local_size = 1;
    int node = 0, nodes = 1;  // of those with ranks
    // Among the ranks of other nodes that have the same local rank.
    int cross_rank = 0, cross_size = 0;
    std::string node_name;
    std::string node_list;       // of those with ranks, where others have none; else empty
    std::string ranks_per_node;  // in Slurm's notation: "2(x3),1"
    std::string local_ranks;     // "4,5"
    bool cyclic = false;         // the map of the ranks
    std::string master_address;  // reaches the node of rank 0
    int master_port = 0;
    int rendezvous_port = 0;       // of Horovod's Gloo, at the rank's own loopback; 0: none
    std::string interface;         // that reaches the other nodes; empty: not known
    bool interface_asked = false;  // by the user
    int cores = 1;                 // that the rank may use
    bool oversubscribed = false;   // the node has more ranks than cores
    std::string networks;          // the devices near its GPUs; empty: any
    std::string visible_gpus;      // empty: the node's
    bool shared_host = false;      // the "nodes" are one machine
    std::string shm_directory;     // of this agent, removed with it
};

// The rank's place in the map.
Place place_in(const RankMap& map, int rank);

// The directory for the state that the next attempt needs; the user may set it.
inline constexpr const char* kRestartDirectory = "BATCHAI_RESTART_DIRECTORY";

// The variables that a launch has set for a rank, with their values: a JSON object. A launch inside
// the rank removes them, so that it does not take them for the user's. A variable that the rank's
// program has given another value is the user's.
inline constexpr const char* kOfLaunch = "BATCHAI_OF_LAUNCH";
// The variable, which is set, is the launch's.
void note_as_ours(Environment& environment, const std::string& name);
// So are all that `before` does not have, except what is taken away from the rank.
void note_new_as_ours(Environment& environment, const Environment& before);
// Removes the variables that a launch around this one has set.
void leave_outer_launch(Environment& environment);

// Whether the user has said if Open MPI's ranks give up their core while they wait.
bool has_own_yield(const Environment& environment);

// Removes the choices of PMIx components that are the agents' servers' to make. A rank that makes
// another choice than its server cannot connect.
void leave_to_server(Environment& environment);
// Those of them that the user has made otherwise, as NAME=VALUE.
std::vector<std::string> unheeded(const Environment& environment);
// The rest of a message that PMIx's server has failed: names all other settings of PMIx, which it
// reads too. Empty if there are none.
std::string blame_settings(const Environment& environment);

// Removes what other launchers have left: PMIX_*, PMI_*, SLURM_PMIX*, OMPI_* and more, and what a
// launch around this one has set. The user's own settings stay (OMPI_MCA_btl=...).
void scrub(Environment& environment);

// Whether the variable is Slurm's or an option of srun's, and whether srun leaves it as it is in a
// step, because it is about the job.
bool is_slurms(const std::string& name);
bool is_of_job(const std::string& name);

// Slurm's variables as the batch script has them, from those of any process of the job. In a step
// they are made from the ones that are about the job.
Environment slurm_of_job(const Environment& environment);

// For a script that starts ranks itself. Slurm's variables become those of the job, which
// slurm_of_job has returned, and nothing says that the script is a rank; what the user has set for
// mpirun, mpiexec and srun stays.
void make_script(Environment& environment, const Environment& slurm);

void add_openmpi(Environment& environment, const Place& place);
void add_intel_mpi(Environment& environment, const Place& place);
// MPICH and its derivatives: Intel MPI, MVAPICH, ParaStation MPI.
void add_mpich(Environment& environment, const Place& place);
void add_torch(Environment& environment, const Place& place);
void add_network(Environment& environment, const Place& place);
// workers: "address:port" of all ranks.
void add_tensorflow(Environment& environment, const Place& place,
                    const std::vector<std::string>& workers);
void add_devices(Environment& environment, const Place& place);
void add_horovod(Environment& environment, const Place& place);
// SLURM_PROCID and others, which describe agents, get the values of ranks. A rank on its
// own may start mpirun: SLURM_NODELIST and its like, in which mpirun looks for nodes, stay the
// job's, and only SLURM_STEP_* describe the rank.
void add_slurm(Environment& environment, const Place& place);
// Which Horovod a Python program imports: auto, batchai or system. Our package reads it, too: with
// auto it gives way to one that is installed (collectives/python/horovod/__init__.py).
inline constexpr const char* kHorovod = "BATCHAI_HOROVOD";
// Of --compat: the folder of that name in "compat" beside python_directory is put on PYTHONPATH.
inline constexpr const char* kCompat = "BATCHAI_COMPAT";
// Our own libraries: python_directory is put on PYTHONPATH, unless kHorovod says system; library is
// the collectives'. Either may be empty.
void add_batchai(Environment& environment, const Place& place, const std::string& python_directory,
                 const std::string& library);

// "2(x3),1" from 2, 2, 2, 1.
std::string slurm_counts(const std::vector<int>& counts);

}  // namespace batchai::launcher::env
