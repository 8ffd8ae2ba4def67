// SPDX-License-Identifier: Apache-2.0
//
// Coordinator: the root of a job. It waits for one agent per node, tells the agents what to start,
// and collects the ranks' output and ends. At the first failure it ends all ranks and reports the
// cause.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/common/allocation.hpp"
#include "launcher/common/settings.hpp"
#include "launcher/root/ending.hpp"
#include "launcher/root/input_feed.hpp"
#include "launcher/root/inspection.hpp"
#include "launcher/root/nodes.hpp"
#include "launcher/root/outcome.hpp"
#include "launcher/root/plan_view.hpp"
#include "launcher/root/printer.hpp"
#include "launcher/root/relay.hpp"
#include "launcher/root/spawning.hpp"
#include "launcher/root/starter.hpp"
#include "launcher/root/viewers.hpp"

namespace batchai::launcher {

// tasks: see Allocation::tasks.
std::vector<NodeSize> sizes_of(const std::vector<Hello>& nodes, const std::vector<int>& tasks);

// What to run. It is decided when all agents have sent Hello.
struct Work {
    RankMap map;
    Role role = Role::ranks;
    std::vector<Program> programs;               // their ranks are those of the map
    std::vector<env::Environment> environments;  // of each node
    std::string directory;                       // the ranks' working directory
    std::vector<std::string> directories;        // one for each node; empty: `directory` on all

    std::vector<env::Environment> of_retries;  // one for each node, added if the job ran before
    std::vector<std::string> execution_logs;   // one for each node; empty: none
    // A program to run on each node before the ranks, and its standard input. An empty program:
    // none.
    std::vector<std::vector<std::string>> preparations;
    std::string preparation_input;
    std::string host_file;  // the text for $AZ_BATCHAI_MPI_HOST_FILE; empty: it is written already
    Secrets secrets;        // values that must not be printed
};
using Planner = std::function<sys::Result<Work>(const std::vector<Hello>& nodes)>;

// What one attempt leaves to the next one.
struct Carried {
    std::optional<double> timeout_left;  // seconds; none: all of LaunchSettings::timeout
    std::vector<Misplaced> misplaced;    // see outcome.hpp; of all attempts so far
    bool prepared = false;               // the preparation of all nodes is done
};

struct Session {
    Allocation allocation;
    LaunchSettings settings;
    Planner plan;
    JobOutput::Targets output;   // of the ranks
    bool output_is_ours = true;  // the ranks' stderr is also the launcher's
    int attempt = 0, max_restarts = 0;
    Carried carried;                // from earlier attempts
    std::string restart_directory;  // for the ranks' variable; empty: none
    bool tensorflow = true;         // TF_CONFIG makes all ranks workers
    std::string owned_directory;    // the first agent removes it; empty: none
    std::string record;             // the job file's record directory; empty: none
};

struct SessionResult {
    int exit_code = 0;
    std::string failure;  // the complete line; empty: none
    Cause cause = Cause::none;
    std::vector<std::string> lost_nodes;
    bool logged = false;  // the line is in the execution log and the record already
    Carried carried = {};
    std::string node = {};        // of the failure; empty: no particular node
    std::string details = {};     // lines below the failure in the report
    std::string error_file = {};  // of the failed rank; see Outcome::error_file
};

class Coordinator final : private RootEvents {
  public:
    // Runs the job to its end. Afterwards a thread of libuv may still be in read() or write(),
    // until the process ends.
    static SessionResult run(Session session);

  private:
    explicit Coordinator(Session session);
    SessionResult run_to_end();
    sys::Result<void> open();
    void open_for_viewers(const std::vector<std::string>& addresses);
    void ask_who_ended_it();
    SessionResult report();

    void on_connected() override;
    void on_message(int node, Kind kind, Reader& reader) override;
    void on_agent_lost(int node) override;
    void on_late(const std::vector<int>& nodes, bool lost) override;
    void on_agent_died(const DeathNotice& notice) override;
    void on_agent_ended(const EndedAgent& agent) override;
    void on_written() override { ending_.check_over(); }
    void on_failure(const std::string& line) override { ending_.fail(line); }

    void on_planned(Planned planned);
    void on_prepared(int node, Prepared prepared);
    void on_output(int node, Output output);
    void on_spawn(int node, SpawnJob order);
    void on_job_ready(int node, const JobReady& ready);
    void on_rank_end(int node, RankEnd end);
    void check_awaited();
    std::string line_of(const EndedAgent& agent) const;

    Session session_;
    Loop loop_;
    std::optional<EndedAgent> unstarted_;
    Work work_;                      // empty until all agents have connected
    Jobs jobs_;                      // the same
    std::vector<RankPlan> planned_;  // for --dry-run
    Outcome outcome_;
    Nodes nodes_;
    Starters starters_;
    JobOutput output_;
    InputFeed input_;
    Relay relay_;
    Spawning spawning_;
    Inspection inspection_;
    Viewers viewers_;
    Ending ending_;
};

}  // namespace batchai::launcher
