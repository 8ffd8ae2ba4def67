// SPDX-License-Identifier: Apache-2.0
#include "cli/node/nodes.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "cli/command_options.hpp"
#include "cli/output/result_table.hpp"
#include "cli/programs.hpp"
#include "cli/verbs.hpp"
#include "slurm/command.hpp"
#include "slurm/jobs.hpp"
#include "slurm/nodes.hpp"
#include "sys/paths.hpp"
#include "sys/shell.hpp"

namespace batchai::cli {
namespace {

constexpr int kSshPort = 22;

struct ExecArgs {
    std::string node;
    std::string command;
    std::vector<std::string> addresses;
    std::string ssh_key;
};

int list_nodes(const Session& session, const FindNodes& find) {
    const auto nodes = find();
    if (!nodes) return fail(kBadInput, nodes.error());
    const auto addresses = slurm::node_addresses(nodes->names);
    if (!addresses) return fail(kEnvironment, addresses.error());
    auto result = nlohmann::json::array();
    for (const auto& [name, address] : *addresses)
        result.push_back({{"ipAddress", address}, {"nodeId", name}, {"port", kSshPort}});
    return session.print(result, [](const nlohmann::json& rows) {
        return table_of(rows, {{"ID", "nodeId"}, {"IP", "ipAddress"}, {"SSH Port", "port"}});
    });
}

// Slurm cannot forward ports, so ssh does it.
std::vector<std::string> ssh_command(const ExecArgs& args, const std::string& node) {
    std::vector<std::string> command{"ssh"};
    if (!args.ssh_key.empty()) command.insert(command.end(), {"-i", args.ssh_key});
    for (const auto& address : args.addresses) command.insert(command.end(), {"-L", address});
    if (args.command.empty()) command.push_back("-N");
    command.insert(command.end(), {"--", node});
    if (!args.command.empty()) command.push_back("bash -ilc " + sys::shell_quoted(args.command));
    return command;
}

// As in the service: an interactive login shell, which reads the user's profile.
std::vector<std::string> shell_on_terminal(const std::string& command) {
    if (command.empty()) return {"--pty", "bash", "-il"};
    return {"--pty", "bash", "-il", "-c", command};
}

// While an interactive shell starts without a terminal, it complains that it has none, and so do
// commands of many profiles. Those messages go nowhere; the command's go to standard error. In a
// subshell, "exit" does not print "logout".
std::vector<std::string> shell_without_terminal(const std::string& command) {
    if (command.empty()) return {"bash", "-l"};
    return {"bash", "-c", "exec bash -ilc \"$0\" 3>&2 2>/dev/null",
            "exec 2>&3 3>&-\n(" + command + "\n)"};
}

// A step beside the job's own steps, or a new job if the user has none on the node.
std::vector<std::string> srun_command(const std::string& srun, const ExecArgs& args,
                                      const NodeSet& nodes, const std::string& node) {
    std::vector<std::string> command{srun, "--nodes=1", "--ntasks=1", "--nodelist=" + node};
    job::Number job = nodes.job;
    if (!job) job = job::Number::of_job(slurm::own_job_on(node).value_or(0));
    if (job)
        command.insert(command.end(), {"--overlap", "--jobid=" + job.own_text()});
    else
        command.push_back("--partition=" + nodes.partition);
    const auto shell = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0
                           ? shell_on_terminal(args.command)
                           : shell_without_terminal(args.command);
    command.insert(command.end(), shell.begin(), shell.end());
    return command;
}

int exec(const ExecArgs& args, const FindNodes& find) {
    const auto nodes = find();
    if (!nodes) return fail(kBadInput, nodes.error());
    if (!args.ssh_key.empty() && args.addresses.empty())
        note("--ssh-private-key " + args.ssh_key +
             ": has no effect without --address: the command runs through srun");
    if (nodes->names.empty()) return fail(kFailed, "there is no node to run a command on");
    const std::string node = args.node.empty() ? nodes->names.front() : args.node;
    if (std::find(nodes->names.begin(), nodes->names.end(), node) == nodes->names.end())
        return fail(kBadInput, fmt::format("--node-id {}: not a node here: see 'node list'", node));
    if (!args.addresses.empty() && sys::program_on_path("ssh").empty())
        return fail(kEnvironment, "ssh: not found: install it, or set PATH");
    const auto srun = slurm::find_command("srun");
    if (args.addresses.empty() && !srun) return fail(kEnvironment, srun.error());
    const auto code = run_foreground(
        args.addresses.empty() ? srun_command(*srun, args, *nodes, node) : ssh_command(args, node));
    return code ? *code : fail(kFailed, code.error());
}

}  // namespace

void add_node_verbs(CLI::App& parent, Session& session, const std::string& command,
                    const std::string& whose,
                    const std::function<FindNodes(CLI::App&)>& add_options) {
    CLI::App* verb = add_verb(parent, session, "list", "the nodes' names and addresses",
                              command + " list " + whose);
    FindNodes find = add_options(*verb);
    verb->callback([find, &session] {
        session.action = [find, &session] { return list_nodes(session, find); };
    });

    verb = add_verb(parent, session, "exec", "run a command on a node with srun, or a shell",
                    command + " exec " + whose + " --exec nvidia-smi");
    find = add_options(*verb);
    const auto args = std::make_shared<ExecArgs>();
    verb->add_option("--exec", args->command, "the command line; left out: a shell");
    verb->add_option("-n,--node-id", args->node, "the node; left out: the first one");
    verb->add_option("-L,--address", args->addresses,
                     "forward a port (PORT:HOST:PORT) with ssh, which the site must allow")
        ->expected(1)
        ->take_all();
    verb->add_option("-k,--ssh-private-key", args->ssh_key, "the key for --address");
    ignore_options(*verb, {"-p,--password"});
    set_action(*verb, session, args, [find](const ExecArgs& given) { return exec(given, find); });
}

}  // namespace batchai::cli
