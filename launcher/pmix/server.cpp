// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmix/server.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <future>

#include "launcher/pmix/upcalls.hpp"
#include "launcher/pmix/workarounds.hpp"

namespace batchai::launcher::pmix {

Target& target() {
    static Target one;
    return one;
}

namespace {

pmix_status_t on_connected(const pmix_proc_t* proc, void*, pmix_info_t[], size_t, pmix_op_cbfunc_t,
                           void*) {
    const auto rank = names().number(*proc);
    if (!rank) return PMIX_ERR_NOT_FOUND;
    name_connection(*rank);
    hand_over([rank = static_cast<int>(*rank)](Host& host) { host.connected(rank); });
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_finalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
    if (const auto rank = names().number(*proc))
        hand_over([rank = static_cast<int>(*rank)](Host& host) { host.finalized(rank); });
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_register_events(pmix_status_t*, size_t, const pmix_info_t[], size_t,
                                 pmix_op_cbfunc_t, void*) {
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_deregister_events(pmix_status_t*, size_t, pmix_op_cbfunc_t, void*) {
    return PMIX_OPERATION_SUCCEEDED;
}

// Events, such as a client's lost connection, need no action. The agent notices deaths by waiting
// for the processes, which is a second faster.
void ignore_event(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*,
                  size_t, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    if (done != nullptr) {
        done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
    }
}

pmix_server_module_t* upcalls() {
    static pmix_server_module_t module = [] {
        pmix_server_module_t m{};
        m.client_connected2 = on_connected;
        m.client_finalized = on_finalized;
        m.abort = on_abort;
        m.spawn = on_spawn;
        m.fence_nb = on_fence;
        m.direct_modex = on_modex;
        m.publish = on_publish;
        m.lookup = on_lookup;
        m.unpublish = on_unpublish;
        m.group = on_group;
        m.connect = on_connect;
        m.disconnect = on_disconnect;
        m.notify_event = on_notify;
        m.log = on_log;
        m.query = on_query;
        m.job_control = on_control;
        m.register_events = on_register_events;
        m.deregister_events = on_deregister_events;
        return m;
    }();
    return &module;
}

// Calls an asynchronous function of the library and waits for its end. Never call it in an upcall.
template <class Call>
pmix_status_t wait_for(Call call) {
    std::promise<pmix_status_t> promise;
    const auto done = [](pmix_status_t status, void* data) {
        static_cast<std::promise<pmix_status_t>*>(data)->set_value(status);
    };
    const pmix_status_t status = call(done, &promise);
    if (status == PMIX_OPERATION_SUCCEEDED) return PMIX_SUCCESS;
    if (status != PMIX_SUCCESS) return status;
    return promise.get_future().get();
}

sys::Error pmix_error(const std::string& what, pmix_status_t status) {
    return sys::Error{what + ": " + PMIx_Error_string(status)};
}

std::string local_peers(const RankMap& map, int node) {
    return fmt::format("{}", fmt::join(map.ranks_on(node), ","));
}

// Adds the position of each rank, in the library's compressed forms. The library refuses nodes
// without ranks.
void add_maps(InfoList& info, const RankMap& map) {
    std::vector<std::string> nodes, ranks;
    for (int n = 0; n < map.used_nodes(); ++n) {
        nodes.push_back(map.nodes[n]);
        ranks.push_back(local_peers(map, n));
    }
    char* regex = nullptr;
    if (PMIx_generate_regex(fmt::format("{}", fmt::join(nodes, ",")).c_str(), &regex) ==
        PMIX_SUCCESS) {
        info.add_regex(PMIX_NODE_MAP, regex);
    }
    char* ppn = nullptr;
    if (PMIx_generate_ppn(fmt::format("{}", fmt::join(ranks, ";")).c_str(), &ppn) == PMIX_SUCCESS) {
        info.add_regex(PMIX_PROC_MAP, ppn);
    }
    std::free(regex);
    std::free(ppn);
}

void add_rank(InfoList& info, const JobInfo& one, int node, int rank,
              const std::string& directory) {
    const RankMap& map = one.job.map;
    const int local = map.local_rank(rank);
    InfoList proc;
    proc.add_rank(PMIX_RANK, rank);  // must come first
    proc.add_rank(PMIX_GLOBAL_RANK, one.job.first + rank);
    const InProgram own = program_of(one.job.programs, rank);
    proc.add_rank(PMIX_APP_RANK, own.place);
    proc.add(PMIX_APPNUM, static_cast<std::uint32_t>(own.number));
    proc.add(PMIX_LOCAL_RANK, static_cast<std::uint16_t>(local));
    proc.add(PMIX_NODE_RANK, static_cast<std::uint16_t>(local));
    proc.add(PMIX_NODEID, static_cast<std::uint32_t>(node));
    proc.add(PMIX_HOSTNAME, map.nodes[node]);
    if (one.job.parent >= 0) proc.add_proc(PMIX_PARENT_ID, names().proc(one.job.parent));
    if (node == one.node) {
        proc.add(PMIX_PROCDIR, fmt::format("{}/{}", directory, rank));
        if (!one.cpusets.empty() && !one.cpusets[local].empty()) {
            proc.add(PMIX_CPUSET, "hwloc:" + one.cpusets[local]);
        }
    }
    info.add(PMIX_PROC_DATA, proc);
}

// What the ranks of the node share.
void add_node(InfoList& info, const JobInfo& one) {
    const RankMap& map = one.job.map;
    const std::vector<int> ranks = one.node < 0 ? std::vector<int>() : map.ranks_on(one.node);
    const auto local = static_cast<std::uint32_t>(ranks.size());
    info.add(PMIX_LOCAL_SIZE, local);
    info.add(PMIX_NODE_SIZE, local);
    if (ranks.empty()) return;
    info.add(PMIX_LOCAL_PEERS, local_peers(map, one.node));
    info.add_rank(PMIX_LOCALLDR, ranks.front());
}

}  // namespace

sys::Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options, Box& box,
                                                   Host& host) {
    if (!accept_is_guarded()) {
        return sys::Error{
            "other users could stop the PMIx server: batchai-launch does not export "
            "its accept(). Link it with -rdynamic"};
    }
    // Authentication by user id needs no daemon. The hash store needs no shared memory.
    ::setenv("PMIX_MCA_psec", "native", 1);
    ::setenv("PMIX_MCA_gds", "hash", 1);
    ::unsetenv("PMIX_MCA_ptl");
    target().box = &box;
    target().host = &host;
    InfoList list;
    list.add(PMIX_SERVER_TMPDIR, options.server_directory);
    list.add(PMIX_SYSTEM_TMPDIR, options.server_directory);
    list.add(PMIX_HOSTNAME, options.node);
    list.add(PMIX_SERVER_NSPACE, fmt::format("batchai-launch.{}", ::getpid()));
    list.add_rank(PMIX_SERVER_RANK, options.index);
    pmix_topology_t topology{const_cast<char*>("hwloc"), options.topology};
    if (options.topology != nullptr) list.add_reference(PMIX_TOPOLOGY2, &topology);
    // Ranks get the topology as shared memory. They need not read XML: libxml2 divides by zero,
    // which kills a rank that traps floating-point errors.
    list.add(PMIX_SERVER_SHARE_TOPOLOGY, true);
    InfoArray info = list.array();
    pmix_status_t status = PMIx_server_init(upcalls(), info.data(), info.size());
    if (status != PMIX_SUCCESS) return pmix_error("starting the PMIx server", status);
    find_group_commands();
    std::unique_ptr<Server> server(new Server(options));
    PMIx_Register_event_handler(nullptr, 0, nullptr, 0, ignore_event, nullptr, nullptr);
    return server;
}

sys::Result<void> Server::register_job(const JobInfo& one) {
    const Job& job = one.job;
    const RankMap& map = job.map;
    const auto size = static_cast<std::uint32_t>(map.size());
    const std::vector<int> ranks = one.node < 0 ? std::vector<int>() : map.ranks_on(one.node);
    names().add(job.nspace, job.first, map.size());
    const std::string session = fmt::format("{}/job.{}", options_.client_directory, job.first);
    ::mkdir(session.c_str(), 0700);

    InfoList list;
    add_maps(list, map);
    list.add(PMIX_ANL_MAP, process_mapping(map));
    list.add(PMIX_JOBID, job.nspace);
    list.add(PMIX_JOB_SIZE, size);
    list.add(PMIX_UNIV_SIZE, static_cast<std::uint32_t>(std::max(one.slots, map.size())));
    list.add(PMIX_MAX_PROCS, size);
    list.add(PMIX_APP_SIZE, size);
    list.add(PMIX_JOB_NUM_APPS, static_cast<std::uint32_t>(job.programs.size()));
    list.add(PMIX_NUM_NODES, static_cast<std::uint32_t>(map.used_nodes()));
    add_node(list, one);
    list.add_rank(PMIX_APPLDR, 0);
    list.add(PMIX_SPAWNED, job.parent >= 0);
    list.add(PMIX_TMPDIR, options_.client_directory);
    list.add(PMIX_NSDIR, session);
    list.add(PMIX_TDIR_RMCLEAN, true);
    list.add(PMIX_WDIR, one.directory);
    list.add(PMIX_APP_ARGV, one.command);
    list.add(PMIX_REINCARNATION, std::uint32_t{0});
    // Open MPI 5 only checks that the key exists.
    if (one.oversubscribed) list.add(PMIX_NODE_OVERSUBSCRIBED, true);
    for (int node = 0; node < static_cast<int>(map.nodes.size()); ++node) {
        for (const int rank : map.ranks_on(node)) add_rank(list, one, node, rank, session);
    }
    InfoArray info = list.array();
    pmix_status_t status = wait_for([&](pmix_op_cbfunc_t done, void* data) {
        return PMIx_server_register_nspace(job.nspace.c_str(), static_cast<int>(ranks.size()),
                                           info.data(), info.size(), done, data);
    });
    if (status != PMIX_SUCCESS) return pmix_error("registering the job with PMIx", status);

    for (const int rank : ranks) {
        const pmix_proc_t proc = names().proc(job.first + rank);
        status = wait_for([&](pmix_op_cbfunc_t done, void* data) {
            return PMIx_server_register_client(&proc, ::getuid(), ::getgid(), nullptr, done, data);
        });
        if (status != PMIX_SUCCESS) {
            return pmix_error(fmt::format("registering rank {} with PMIx", job.first + rank),
                              status);
        }
    }
    return {};
}

void Server::remove_last_job(const std::string& nspace) const {
    PMIx_server_deregister_nspace(nspace.c_str(), nullptr, nullptr);
    names().remove_last();
}

sys::Result<std::map<std::string, std::string>> Server::environment(int rank) const {
    const pmix_proc_t proc = names().proc(rank);
    char** list = nullptr;
    const pmix_status_t status = PMIx_server_setup_fork(&proc, &list);
    std::map<std::string, std::string> environment;
    for (char** entry = list; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string text = *entry;
        const auto equals = text.find('=');
        environment[text.substr(0, equals)] = text.substr(equals + 1);
        std::free(*entry);
    }
    std::free(list);
    if (status != PMIX_SUCCESS) return pmix_error("asking PMIx for a rank's environment", status);
    return environment;
}

void Server::forget(int rank) const {
    const pmix_proc_t proc = names().proc(rank);
    const auto ignore = [](pmix_status_t, void*) {};  // without a callback the call would wait
    PMIx_server_deregister_client(&proc, ignore, nullptr);
}

}  // namespace batchai::launcher::pmix
