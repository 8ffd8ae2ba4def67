// SPDX-License-Identifier: Apache-2.0
//
// The messages between root and agents, one struct each.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collectives/comm/progress.hpp"
#include "launcher/common/exit_code.hpp"
#include "launcher/common/jobs.hpp"
#include "launcher/common/map.hpp"
#include "launcher/common/program.hpp"
#include "launcher/common/rank_set.hpp"
#include "launcher/common/settings.hpp"
#include "sys/codec.hpp"

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
    sample,
    sampled,
    view,
    spawn_job,
    new_job,
    job_ready,
    job_start,
    spawn_reply,
    job_ended,
};

// A message: its number on the wire, and its members in the order of its bytes.
#define BATCHAI_MESSAGE(kind, ...)            \
    static constexpr Kind kKind = Kind::kind; \
    BATCHAI_FIELDS(__VA_ARGS__)

// ---- starting -----------------------------------------------------------------------------------

// Agent to root: the first message on the connection. Its number, and version and name as its
// first fields, are the same in every release.
struct Hello {
    std::string version;
    std::string name;
    int node = 0;
    double clock = 0;  // the agent's CLOCK_REALTIME at the time of sending
    int gpus = 0;
    int granted_cores = 0;  // of its physical cores, those that Slurm has granted
    int free_port = 0;      // proposed for MASTER_PORT
    int tree_port = 0;      // for its children in the tree; 0: it has none
    // See readiness.hpp.
    bool in_job_mounts = false;
    std::vector<std::string> addresses;  // of its interfaces
    BATCHAI_MESSAGE(hello, version, name, node, clock, gpus, granted_cores, free_port, tree_port,
                    in_job_mounts, addresses);
};

// The reason to refuse this Hello, if its agent has another version than this. It reads only the
// first fields, because the others may be those of another release.
std::optional<std::string> other_release(sys::Reader hello, const std::string& version);

// What the command is: the program of the ranks, or one script that starts ranks itself with mpirun
// or srun.
enum class Role : std::uint8_t { ranks, script };

// Root to every agent when all have sent Hello: what to start.
struct Launch {
    std::string nspace;
    RankMap map;
    std::vector<Program> programs;
    std::string directory;
    Role role = Role::ranks;
    // Slurm's variables: for a script all, for ranks those that the agent's step may lack.
    std::map<std::string, std::string> slurm;
    std::map<std::string, std::string> environment;  // added to the agent's own, for this node
    LaunchSettings settings;
    std::string parent_address;  // the parent in the tree; empty: the root
    int parent_port = 0;
    bool shared_host = false;            // --local: the agents share one machine's cores
    int slots = 0;                       // ranks for which all nodes have room
    std::vector<std::string> ambiguous;  // addresses that several nodes have
    bool append_output = false;          // append to the files of each rank
    std::string output_line;             // written first when appending; empty: none

    std::string execution_log;             // of a job file, for this node; empty: none
    std::string record;                    // of a job file: the record directory; empty: none
    std::vector<std::string> preparation;  // a command to run first; empty: none
    std::string preparation_input;
    std::string host_file;  // the text for $AZ_BATCHAI_MPI_HOST_FILE; empty: it is written already
    BATCHAI_MESSAGE(launch, nspace, map, programs, directory, role, slurm, environment, settings,
                    parent_address, parent_port, shared_host, slots, ambiguous, append_output,
                    output_line, execution_log, record, preparation, preparation_input, host_file);
};

// Agent to root: the ranks can start here. Then root to every agent, when all have sent it: start
// them.
struct Prepared {
    std::string address;     // at which other nodes reach the ranks
    std::vector<int> ports;  // one for each rank; the agent keeps them free
    BATCHAI_MESSAGE(prepared, address, ports);
};
struct Go {
    std::string master_address;
    int master_port = 0;
    std::vector<std::string> workers;  // "address:port" by rank; empty: too many, no free ports
    BATCHAI_MESSAGE(go, master_address, master_port, workers);
};

// ---- further jobs -------------------------------------------------------------------------------

// Agent to root: a rank asks for a job of these programs (PMIx_Spawn). The agent chooses the id.
struct SpawnJob {
    std::uint64_t id = 0;
    int parent = 0;
    std::vector<Program> programs;
    std::vector<std::string> hosts;  // the nodes that each program may use: "n1,n2"; empty: all
    bool by_node = false;            // one rank on each node in turn, not node by node
    bool tell_end = false;           // JobEnded is wanted
    BATCHAI_MESSAGE(spawn_job, id, parent, programs, hosts, by_node, tell_end);
};
// Root to every agent: the new job. Every agent answers whether it is ready to start its ranks.
// Then root to every agent, when all have answered: start them, or forget the job.
struct NewJob {
    Job job;
    BATCHAI_MESSAGE(new_job, job);
};
struct JobReady {
    std::string failure;  // empty: ready
    BATCHAI_MESSAGE(job_ready, failure);
};
struct JobStart {
    bool start = false;
    BATCHAI_MESSAGE(job_start, start);
};
// Root to the agent of the rank that has asked.
struct SpawnReply {
    enum class Status : std::uint8_t { started, no_slots, no_program };
    std::uint64_t id = 0;
    Status status = Status::started;
    std::string nspace;
    std::string why;  // the job is not started
    BATCHAI_MESSAGE(spawn_reply, id, status, nspace, why);
};

// Root to the same agent: all ranks of the job have ended.
struct JobEnded {
    int first = 0;  // of the job
    BATCHAI_MESSAGE(job_ended, first);
};

// ---- plans --------------------------------------------------------------------------------------

// Agent to root, instead of starting a rank: what the rank would get.
struct RankPlan {
    int rank = 0;
    std::vector<int> gpus;                           // indices among the node's GPUs, from 0
    std::vector<int> cpus;                           // empty: not bound
    std::map<std::string, std::string> environment;  // the variables that batchai-launch sets
    BATCHAI_FIELDS(rank, gpus, cpus, environment);
};
struct Planned {
    std::vector<RankPlan> ranks;
    BATCHAI_MESSAGE(planned, ranks);
};

// ---- running ------------------------------------------------------------------------------------

enum class Stream : std::uint8_t { out, err };

// Whole lines of a rank, perhaps with a part of one at the end (agent/ranks.hpp). The root answers
// with output_taken when they are written. An agent limits the amount of unanswered output, so a
// slow terminal slows the ranks down and does not fill memory.
struct Output {
    int rank = 0;
    Stream stream = Stream::out;
    std::string bytes;
    BATCHAI_MESSAGE(output, rank, stream, bytes);
};
struct OutputTaken {
    std::uint64_t bytes = 0;
    BATCHAI_MESSAGE(output_taken, bytes);
};

// Agent to root: a file of a rank's output cannot be written. It says where the output continues.
struct Misplaced {
    std::string line;
    std::string place = {};  // where the output is kept, "n1:/var/tmp/..."; empty: nowhere
    bool returned = false;   // what was kept there is in its own file after all
    BATCHAI_MESSAGE(misplaced, line, place, returned);
};

// Standard input for rank 0. Empty bytes mean its end. The next piece follows the answer to the
// last one.
struct Input {
    std::string bytes;
    BATCHAI_MESSAGE(input, bytes);
};
struct InputTaken {
    BATCHAI_MESSAGE(input_taken);
};

// Agent to root: how a rank ended.
struct RankEnd {
    enum class How : std::uint8_t { exited, signaled, not_started, aborted };
    enum class Pmix : std::uint8_t { never_joined, joined, left };
    int rank = 0;
    How how = How::exited;
    int code = 0;  // exit code, signal, or PMIx_Abort's code
    bool core = false;
    int pid = 0;          // on its node; 0: it was not started
    int gpu = -1;         // the node's GPU with its local rank's number; -1: none
    bool memory = false;  // the kernel has killed a process of this node for lack of memory
    Pmix pmix = Pmix::never_joined;
    bool asked = false;             // it ended after the root's order to end the ranks
    double time = 0;                // the agent's CLOCK_REALTIME
    double ran = 0;                 // seconds
    std::string message;            // for not_started and aborted: the reason
    std::vector<std::string> tail;  // last lines of its stderr
    std::vector<std::string> library_errors;
    BATCHAI_MESSAGE(rank_end, rank, how, code, core, pid, gpu, memory, pmix, asked, time, ran,
                    message, tail, library_errors);
};

// "was killed by signal 9 (SIGKILL) after 1.5 s"
std::string describe(const RankEnd& end);

// The time from the signal that ends the ranks after a failure to SIGKILL.
inline constexpr std::chrono::milliseconds kGraceAfterFailure{2000};

// Agent to root: the agent cannot do its part. It has started nothing, or is ending everything.
struct AgentError {
    std::string line;  // complete, with the program and the node
    int code = kOwnFailure;
    bool logged = false;  // it is in the execution log and the job's record already
    bool killed = false;  // the agent's guard was killed: Slurm may have cancelled their step
    BATCHAI_MESSAGE(agent_error, line, code, logged, killed);
};

// Agent to root: all ranks of the node and their descendants have ended, and their output is sent.
struct NodeDone {
    int jobs = 0;  // that the root has started, as far as the agent knows
    BATCHAI_MESSAGE(node_done, jobs);
};

// Root to agents: send the ranks this signal, and SIGKILL after the grace period. A second End
// sends SIGKILL at once.
struct End {
    int signal = 0;
    int grace = 0;  // milliseconds
    BATCHAI_MESSAGE(end, signal, grace);
};
// Agent to root: Slurm or a user has sent the agent this signal. The root decides what happens.
struct Asked {
    int signal = 0;
    BATCHAI_MESSAGE(asked, signal);
};
// Root to agents: send this signal to these ranks. Agent to root: a rank asks for that.
struct Signal {
    int signal = 0;
    RankSet ranks;
    BATCHAI_MESSAGE(signal, signal, ranks);
};
// Root to agents: report the state of the ranks.
struct Inspect {
    BATCHAI_MESSAGE(inspect);
};
// What a rank does in the collective library, from its progress page.
struct RankProgress {
    using Stage = coll::Stage;
    Stage stage = Stage::none;
    bool inside = false;   // it waits in the operation
    bool certain = false;  // `missing` itself is missing, not one of its neighbours
    std::uint64_t epoch = 0, operation = 0;
    std::string what;          // the operation, for the report
    double seconds = 0;        // in this stage
    std::vector<int> missing;  // ranks that it waits for, as far as it knows
    bool waits() const { return coll::waits(stage, inside); }
    BATCHAI_FIELDS(stage, inside, certain, epoch, operation, what, seconds, missing);
};
struct RankState {
    int rank = 0;
    std::string text;      // about its process
    std::string line;      // of Python, where it is in the program's own code; empty: unknown
    bool stopped = false;  // by a signal
    RankProgress progress;
    BATCHAI_FIELDS(rank, text, line, stopped, progress);
};
struct Inspected {
    std::vector<RankState> ranks;  // the ranks that run
    BATCHAI_MESSAGE(inspected, ranks);
};
// Root to an agent: read the stacks of a rank. Then the agent's answer.
struct StackQuery {
    int rank = 0;
    BATCHAI_MESSAGE(stack_query, rank);
};
struct Stack {
    int rank = 0;
    int pid = 0;
    std::string source;  // "Python", "gdb" or "kernel"; empty: the rank has ended
    std::vector<std::string> lines;
    BATCHAI_MESSAGE(stack, rank, pid, source, lines);
};
// Agent to root: the node's ranks have made no progress for LaunchSettings::hang_report. Or one has
// again.
struct Quiet {
    enum class Progress : std::uint8_t {
        moving,
        silent,
        waiting  // silent, and some of the ranks wait for others
    };
    Progress progress = Progress::moving;
    BATCHAI_MESSAGE(quiet, progress);
};
// Root to agents, each second while a user watches the job (root/viewers.hpp): say what the ranks
// do. Then the agent's answer. Rates and shares are about the time since its last answer; a
// negative one is unknown, because there was no answer shortly before.
struct Sample {
    BATCHAI_MESSAGE(sample);
};
struct RankSample {
    int rank = 0;
    int pid = 0;        // of the process that uses the collective library, else the rank's own
    char state = 0;     // the letter in proc(5) of the busiest of the rank's processes
    double cpu = -1;    // cores that these processes use
    double memory = 0;  // bytes of memory in which they reside
    bool in_library = false;      // the following are known
    std::uint64_t operation = 0;  // the last one that began
    double operations = -1;       // per second
    double waiting = -1;          // share of the time in which the rank waits for others
    std::string what;             // the operation in which it waits now; empty: it does not wait
    std::vector<int> missing;     // for which ranks
    double silent = 0;            // seconds since its last output
    std::string line;             // the last line of its output; may be cut
    BATCHAI_FIELDS(rank, pid, state, cpu, memory, in_library, operation, operations, waiting, what,
                   missing, silent, line);
};
struct GpuSample {
    int gpu = 0;                   // its index among the job's GPUs on the node
    int busy = 0;                  // percent of the time
    double memory = 0, limit = 0;  // bytes
    BATCHAI_FIELDS(gpu, busy, memory, limit);
};
struct Sampled {
    std::vector<RankSample> ranks;  // the ranks that run
    double memory = 0, limit = 0;   // bytes that the job uses on the node, and may use
    std::vector<GpuSample> gpus;
    BATCHAI_MESSAGE(sampled, ranks, memory, limit, gpus);
};
// Root to a viewer: what the job does, a JSON document.
struct View {
    std::string document;
    BATCHAI_MESSAGE(view, document);
};
// Root to agents: the job has ended. Clean up and exit.
struct Bye {
    BATCHAI_MESSAGE(bye);
};

}  // namespace batchai::launcher
