// SPDX-License-Identifier: Apache-2.0
//
// The environment of a rank: the inherited variables without those of other launchers, and the
// variables by which each family of programs finds its ranks. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "launcher/common/environment.hpp"
#include "launcher/common/map.hpp"

namespace batchai::launcher::env {

// A rank's position in the job.
struct RankNumbers {
    int rank = 0, size = 1;
    int local_rank = 0, local_size = 1;
    int node = 0, nodes = 1;  // among the nodes with ranks
    // Among the ranks with the same local rank on all nodes.
    int cross_rank = 0, cross_size = 0;
    std::string node_name;
    std::string node_list;       // nodes with ranks, if other nodes have none; else empty
    std::string ranks_per_node;  // in Slurm's notation: "2(x3),1"
    std::string local_ranks;     // "4,5"
    bool cyclic = false;         // of the rank map
    std::string master_address;  // the address of rank 0's node
    int master_port = 0;
    int rendezvous_port = 0;             // Horovod's Gloo server at 127.0.0.1; 0: none
    std::string interface;               // the one that reaches the other nodes; empty: unknown
    bool interface_asked = false;        // the user has named it
    int cores = 1;                       // number that the rank may use
    bool oversubscribed = false;         // the node has more ranks than cores
    std::string networks;                // network devices near the rank's GPUs; empty: any
    std::string visible_gpus;            // empty: all GPUs of the node
    bool shared_host = false;            // the "nodes" are on one machine
    std::vector<std::string> ambiguous;  // interfaces whose addresses other nodes have too
    std::string shm_directory;           // this agent's, removed with it
};

// The position of a rank in the map.
RankNumbers numbers_in(const RankMap& map, int rank);

// The directory for the state that the next attempt needs; the user may set it.
inline constexpr const char* kRestartDirectory = "BATCHAI_RESTART_DIRECTORY";

// A JSON object: the variables that a launch has set for a rank, with their values. A launch inside
// the rank removes them, so that it does not take them for the user's choices. If the rank's
// program has changed a variable, the variable counts as the user's.
inline constexpr const char* kOfLaunch = "BATCHAI_OF_LAUNCH";
// Notes a variable that is set as the launch's.
void note_as_ours(Environment& environment, const std::string& name);
// Notes all variables that `before` does not have, except restrictions such as
// CUDA_VISIBLE_DEVICES.
void note_new_as_ours(Environment& environment, const Environment& before);
// Removes the variables that an outer launch has set.
void leave_outer_launch(Environment& environment);

// Whether the user has set if waiting Open MPI ranks yield their core.
bool has_own_yield(const Environment& environment);

// Removes settings of PMIx components that the agents' servers determine. A rank with another
// component than its server cannot connect.
void leave_to_server(Environment& environment);
// The user's settings among these that differ from the servers', as NAME=VALUE.
std::vector<std::string> unheeded(const Environment& environment);
// The end of a message about a failed PMIx server. It names the other settings of PMIx, which the
// server reads too. Empty if there are none.
std::string blame_settings(const Environment& environment);

// Removes variables of other launchers (PMIX_*, PMI_*, SLURM_PMIX*, OMPI_* and more) and of an
// outer launch. It keeps the user's own settings (OMPI_MCA_btl=...).
void scrub(Environment& environment);

// is_slurms: the variable is Slurm's or an option of srun. is_of_job: it describes the job, and
// srun does not change it in a step.
bool is_slurms(const std::string& name);
bool is_of_job(const std::string& name);

// Slurm's variables as a batch script has them, made from those of any process of the job. In a
// step, they come from the variables that describe the job.
Environment slurm_of_job(const Environment& environment);

// The variables of Slurm and of srun that a task of srun inherits from the process that starts
// srun, such as SLURM_CPUS_PER_TASK. For ranks: their agents are tasks of a step of one task per
// node, and inherit none of these (srun_environment).
Environment slurm_of_caller(Environment environment);

// For a script that starts ranks itself. Slurm's variables become the job's, as slurm_of_job
// returns them. Nothing marks the script as a rank. The user's settings for mpirun, mpiexec and
// srun are kept.
void make_script(Environment& environment, const Environment& slurm);

void add_openmpi(Environment& environment, const RankNumbers& numbers);
void add_intel_mpi(Environment& environment, const RankNumbers& numbers);
// MPICH and its derivatives: Intel MPI, MVAPICH, ParaStation MPI.
void add_mpich(Environment& environment, const RankNumbers& numbers);
void add_torch(Environment& environment, const RankNumbers& numbers);
// For jax.distributed.initialize() without arguments, where there is no Slurm for it to find.
void add_jax(Environment& environment, const RankNumbers& numbers);
void add_network(Environment& environment, const RankNumbers& numbers);
// Whether a parameter file of Open MPI chooses interfaces for TCP: the user's, Debian's, or that of
// an installation in PATH or OPAL_PREFIX.
bool openmpi_has_interfaces(const Environment& environment);
// workers: "address:port" of each rank.
void add_tensorflow(Environment& environment, const RankNumbers& numbers,
                    const std::vector<std::string>& workers);
void add_devices(Environment& environment, const RankNumbers& numbers);
void add_horovod(Environment& environment, const RankNumbers& numbers);
// Sets SLURM_PROCID and others, which describe the agents, to the rank's values. A job's only rank
// may start mpirun. So SLURM_NODELIST and the other variables in which mpirun looks for nodes stay
// the job's, and only SLURM_STEP_* describe the rank.
void add_slurm(Environment& environment, const RankNumbers& numbers);
// The Horovod that a Python program imports: auto, batchai or system. Our package reads the
// variable too: with auto, it uses an installed Horovod instead of itself
// (collectives/python/horovod/__init__.py).
inline constexpr const char* kHorovod = "BATCHAI_HOROVOD";
// The value of --compat, which our sitecustomize reads (collectives/python/startup).
inline constexpr const char* kCompat = "BATCHAI_COMPAT";
// batchai's own libraries. python_directory is put on PYTHONPATH, unless kHorovod is system, and
// "startup" beside it in any case. library is the collectives'. Each may be empty.
void add_batchai(Environment& environment, const RankNumbers& numbers,
                 const std::string& python_directory, const std::string& library);

}  // namespace batchai::launcher::env
