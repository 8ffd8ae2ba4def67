// SPDX-License-Identifier: Apache-2.0
//
// The messages between root and agents, one struct each. kKind is the number of the message on the
// wire.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "collectives/comm/progress.hpp"
#include "launcher/common/map.hpp"
#include "launcher/common/program.hpp"

namespace batchai::launcher {

enum class Kind : std::uint8_t {
    hello = 1,
    launch,
    prepared,
    go,
    output,
    output_taken,
    input,
    input_taken,
    rank_end,
    agent_error,
    node_done,
    end,
    signal,
    inspect,
    inspected,
    stack_query,
    stack,
    quiet,
    asked,
    bye,
    joined,
    fence,
    fence_done,
    fence_query,
    fence_answer,
    tree_hello,
    modex_request,
    modex_reply,
    publish,
    lookup,
    unpublish,
    store_reply,
    gloo_request,
    gloo_reply,
    notification,
    planned,
    misplaced,
    left,
    missing_rank,
};

// ---- starting -----------------------------------------------------------------------------------

// Agent to root, first on the connection.
struct Hello {
    static constexpr Kind kKind = Kind::hello;
    std::string version;
    int node = 0;
    std::string name;
    double clock = 0;  // the agent's CLOCK_REALTIME when it sent this
    int gpus = 0;
    std::vector<int> cores;  // of which each has at least one CPU that this agent may use
    int granted_cores = 0;   // as many of them as Slurm has granted
    int free_port = 0;       // for MASTER_PORT
    int tree_port = 0;       // where its children in the tree call; 0: it has none
    // See readiness.hpp.
    bool in_job_mounts = false;
    template <class A>
    void fields(A& a) {
        a(version, node, name, clock, gpus, cores, granted_cores, free_port, tree_port,
          in_job_mounts);
    }
};

// What the command is: ranks, or one script that starts ranks itself, with mpirun or srun.
enum class Role : std::uint8_t { ranks, script };

// Root to every agent once all have said hello: what to start.
struct Launch {
    static constexpr Kind kKind = Kind::launch;
    std::string nspace;
    RankMap map;
    std::vector<Program> programs;
    std::string directory;
    Role role = Role::ranks;
    std::map<std::string, std::string> slurm;        // a script's: Slurm's variables of the job
    std::map<std::string, std::string> environment;  // of this node, over the agent's own
    std::string interface;       // that the ranks are to use; empty: the one that reaches the root
    std::string parent_address;  // of its parent in the tree; empty: the root
    int parent_port = 0;
    bool shared_host = false;      // --local: the agents share one machine's cores
    bool bind = true;              // each rank to its share of the cores
    bool own_gpus_only = false;    // each rank sees its own GPUs, not the node's
    bool dry_run = false;          // tell what would run instead of running it
    std::string output_directory;  // for files of each rank; empty: none
    bool append_output = false;    // to them
    std::string output_line;       // that comes first then; empty: none
    int end_on = 0;                // a signal that is not passed on, but ends the job; 0: none
    double quiet_after = 0;  // seconds without any progress of the ranks, to be told; 0: never

    std::string execution_log;             // job file: this node's; empty: none
    std::string record;                    // job file: the record directory; empty: none
    std::vector<std::string> preparation;  // to be run first; empty: nothing
    std::string preparation_input;
    bool host_file = false;  // job file: the agent writes $AZ_BATCHAI_MPI_HOST_FILE
    template <class A>
    void fields(A& a) {
        a(nspace, map, programs, directory, role, slurm, environment, interface, parent_address,
          parent_port, shared_host, bind, own_gpus_only, dry_run, output_directory, append_output,
          output_line, end_on, quiet_after, execution_log, record, preparation, preparation_input,
          host_file);
    }
};

// Agent to root: the ranks can start here. Root to every agent once all have said so: start them.
struct Prepared {
    static constexpr Kind kKind = Kind::prepared;
    std::string address;     // at which other nodes reach the ranks
    std::vector<int> ports;  // one for each rank, free while the agent holds it
    template <class A>
    void fields(A& a) {
        a(address, ports);
    }
};
struct Go {
    static constexpr Kind kKind = Kind::go;
    std::string master_address;
    int master_port = 0;
    std::vector<std::string> workers;  // "address:port" by rank; empty: too many, or no free ports
    template <class A>
    void fields(A& a) {
        a(master_address, master_port, workers);
    }
};

// Agent to root, in place of starting: what each rank of the node would get.
struct RankPlan {
    int rank = 0;
    std::vector<int> gpus;                           // of the node's, from 0
    std::vector<int> cpus;                           // empty: not bound
    std::map<std::string, std::string> environment;  // the variables that batchai-launch sets
    template <class A>
    void fields(A& a) {
        a(rank, gpus, cpus, environment);
    }
};
struct Planned {
    static constexpr Kind kKind = Kind::planned;
    std::vector<RankPlan> ranks;
    template <class A>
    void fields(A& a) {
        a(ranks);
    }
};

// ---- running ------------------------------------------------------------------------------------

inline constexpr std::uint32_t kAllRanks = 0xfffffffe;  // PMIX_RANK_WILDCARD

enum class Stream : std::uint8_t { out, err };

// Whole lines of a rank, and perhaps a part of one (agent/ranks.hpp). The root answers with
// output_taken once they are written, and an agent keeps only so much unanswered: a slow terminal
// slows the ranks down instead of filling memory.
struct Output {
    static constexpr Kind kKind = Kind::output;
    int rank = 0;
    Stream stream = Stream::out;
    std::string bytes;
    template <class A>
    void fields(A& a) {
        a(rank, stream, bytes);
    }
};
struct OutputTaken {
    static constexpr Kind kKind = Kind::output_taken;
    std::uint64_t bytes = 0;
    template <class A>
    void fields(A& a) {
        a(bytes);
    }
};

// Agent to root: a file of a rank's output cannot be written; where the output goes on.
struct Misplaced {
    static constexpr Kind kKind = Kind::misplaced;
    std::string line;
    std::string returned;  // the place whose output is in its file after all; empty: none
    template <class A>
    void fields(A& a) {
        a(line, returned);
    }
};

// Standard input for rank 0; empty bytes: its end. One piece at a time.
struct Input {
    static constexpr Kind kKind = Kind::input;
    std::string bytes;
    template <class A>
    void fields(A& a) {
        a(bytes);
    }
};
struct InputTaken {
    static constexpr Kind kKind = Kind::input_taken;
    template <class A>
    void fields(A&) {}
};

// How a rank ended.
struct RankEnd {
    static constexpr Kind kKind = Kind::rank_end;
    enum class How : std::uint8_t { exited, signaled, not_started, aborted };
    enum class Pmix : std::uint8_t { never_joined, joined, left };
    int rank = 0;
    How how = How::exited;
    int code = 0;  // exit code, signal, or the code given to PMIx_Abort
    bool core = false;
    int pid = 0;          // on its node; 0: not started
    int gpu = -1;         // the local GPU of its number; -1: there is none
    bool memory = false;  // the kernel has killed a process of its node for lack of memory
    Pmix pmix = Pmix::never_joined;
    bool asked = false;             // after the root had told this agent to end its ranks
    double time = 0;                // the agent's CLOCK_REALTIME
    double ran = 0;                 // seconds
    std::string message;            // not_started, aborted: why
    std::vector<std::string> tail;  // last lines of its stderr
    std::vector<std::string> library_errors;
    template <class A>
    void fields(A& a) {
        a(rank, how, code, core, pid, gpu, memory, pmix, asked, time, ran, message, tail,
          library_errors);
    }
};

// "was killed by signal 9 (SIGKILL) after 1.5 s"
std::string describe(const RankEnd& end);

// Between a signal that ends the ranks after a failure, and SIGKILL.
inline constexpr std::chrono::milliseconds kGraceAfterFailure{2000};

// The agent cannot do its part; nothing was started, or everything is being ended.
struct AgentError {
    static constexpr Kind kKind = Kind::agent_error;
    std::string line;  // whole, with who says it and where
    int code = 125;
    bool logged = false;  // in the execution log and the job's record already
    template <class A>
    void fields(A& a) {
        a(line, code, logged);
    }
};

// All ranks of the node are gone, with everything they had started, and their output is sent.
struct NodeDone {
    static constexpr Kind kKind = Kind::node_done;
    template <class A>
    void fields(A&) {}
};

// Root to agents: signal the ranks, and SIGKILL after a grace period. The second one: SIGKILL now.
struct End {
    static constexpr Kind kKind = Kind::end;
    int signal = 0;
    int grace = 0;  // milliseconds
    template <class A>
    void fields(A& a) {
        a(signal, grace);
    }
};
// Agent to root: the agent got this signal, from Slurm or a user. The root decides about it.
struct Asked {
    static constexpr Kind kKind = Kind::asked;
    int signal = 0;
    template <class A>
    void fields(A& a) {
        a(signal);
    }
};
// Root to agents: pass this signal on to these of the ranks. Agent to root: a rank wants that.
struct Signal {
    static constexpr Kind kKind = Kind::signal;
    int signal = 0;
    std::vector<std::uint32_t> ranks;  // or kAllRanks
    template <class A>
    void fields(A& a) {
        a(signal, ranks);
    }
};
// Root to agents: say what the ranks are doing.
struct Inspect {
    static constexpr Kind kKind = Kind::inspect;
    template <class A>
    void fields(A&) {}
};
// What a rank does in the collective library, as its progress page says.
struct RankProgress {
    using Stage = coll::Stage;
    Stage stage = Stage::none;
    bool inside = false;   // waits for the operation
    bool certain = false;  // `missing` are missing, and not one of their neighbours
    std::uint64_t epoch = 0, operation = 0;
    std::string what;          // the operation, in words
    double seconds = 0;        // in this stage
    std::vector<int> missing;  // ranks that it waits for, as far as it knows
    bool waits() const { return coll::waits(stage, inside); }
    template <class A>
    void fields(A& a) {
        a(stage, inside, certain, epoch, operation, what, seconds, missing);
    }
};
struct RankState {
    int rank = 0;
    std::string text;      // its process
    bool stopped = false;  // by a signal
    RankProgress progress;
    template <class A>
    void fields(A& a) {
        a(rank, text, stopped, progress);
    }
};
struct Inspected {
    static constexpr Kind kKind = Kind::inspected;
    std::vector<RankState> ranks;  // those that run
    template <class A>
    void fields(A& a) {
        a(ranks);
    }
};
// Root to an agent: the stacks of a rank; and the answer.
struct StackQuery {
    static constexpr Kind kKind = Kind::stack_query;
    int rank = 0;
    template <class A>
    void fields(A& a) {
        a(rank);
    }
};
struct Stack {
    static constexpr Kind kKind = Kind::stack;
    int rank = 0;
    int pid = 0;
    std::string source;  // "Python", "gdb", "kernel"; empty: it does not run
    std::vector<std::string> lines;
    template <class A>
    void fields(A& a) {
        a(rank, pid, source, lines);
    }
};
// Agent to root: no rank of the node has made progress for Launch::quiet_after, or one has again.
struct Quiet {
    static constexpr Kind kKind = Kind::quiet;
    bool quiet = false;
    bool waiting = false;  // some of them wait for others
    template <class A>
    void fields(A& a) {
        a(quiet, waiting);
    }
};
// Root to agents: the job is over; clean up and exit.
struct Bye {
    static constexpr Kind kKind = Kind::bye;
    template <class A>
    void fields(A&) {}
};

}  // namespace batchai::launcher
