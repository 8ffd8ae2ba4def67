// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string_view>
#include <type_traits>

#include "job/launch_options.hpp"
#include "launcher/common/exit_code.hpp"
#include "launcher/common/say.hpp"
#include "launcher/common/signals.hpp"
#include "sys/file.hpp"
#include "sys/shell.hpp"
#include "sys/text.hpp"

namespace batchai::launcher {
namespace {

constexpr int kMostRanks = 1 << 20;

// Values as the user has written them, before they are converted to those of Options.
struct Words {
    CLI::Option* local_option = nullptr;
    int local = 0;
    std::string map, bind = "core", visibility = "all", end_on;
    bool label = false, collapse = false, dry_run = false, json = false;
    std::string configuration;  // --configfile
};

// The options of one program, as the user has written them.
struct ProgramWords {
    std::optional<int> ranks;
    std::vector<std::string> environment;
    std::string directory;

    bool any() const { return ranks || !environment.empty() || !directory.empty(); }
};

// "--local" without a number takes the number of nodes from the job file.
std::optional<std::string> wrong_combination(const Options& options) {
    const std::vector<Program>& programs = options.programs;
    if (options.job_file.empty() && programs.empty()) {
        // The shell of salloc --batchai-job runs on the login node, which has no mounts of the job.
        if (std::getenv("SLURM_SPANK_BATCHAI_JOB") != nullptr && !options.local) {
            return "the job's mounts and preparation are missing here: run "
                   "'srun -N1 -n1 --overlap batchai-launch'";
        }
        return "nothing to run: give a command, or --job FILE";
    }
    if (std::any_of(programs.begin(), programs.end(),
                    [](const Program& program) { return program.argv.front().empty(); })) {
        return "the command is an empty word: is a variable of the script unset?";
    }
    if (options.without_plugin && options.job_file.empty()) {
        return "--without-plugin is for job files: give --job FILE, or leave it out";
    }
    if (!options.job_file.empty() && !programs.empty()) {
        return "--job FILE and a command exclude each other";
    }
    if (options.ranks && options.ranks_per_node) {
        return "-n and --ranks-per-node exclude each other";
    }
    if (!options.job_file.empty() && options.ranks_per_node) {
        return "with --job the number of ranks is the job file's: use its processCount";
    }
    if (options.restarts.min_nodes && (!options.job_file.empty() || options.ranks)) {
        return "--min-nodes: a job file and -n fix the number of ranks: give a command, and "
               "--ranks-per-node if need be";
    }
    const LaunchSettings& settings = options.settings;
    // In this form the condition refuses NaN, because each comparison with NaN is false.
    if (settings.timeout && !(*settings.timeout >= 0.001 && *settings.timeout <= 1e8)) {
        return "--timeout: must be from 0.001 to 100000000 seconds";
    }
    if (settings.end_on != 0 && !is_forwarded(settings.end_on)) {
        return "--end-on: must be a signal that is passed on to the ranks, such as USR1";
    }
    return std::nullopt;
}

// "USR1", "SIGUSR1" or "10"; -1: no such signal.
int signal_number(std::string name) {
    for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (name.starts_with("SIG")) name.erase(0, 3);
    for (int signal = 1; signal < 32; ++signal) {
        if (signal_name(signal) == "SIG" + name || std::to_string(signal) == name) return signal;
    }
    return -1;
}

// The options added after this call belong to this part of --help.
CLI::App& group(CLI::App& app, const char* title) {
    app.option_defaults()->group(title);
    return app;
}

// Adds an option that `batchai job create` has too. Here a flag has its first letter as well.
template <class Target>
CLI::Option* add_shared(CLI::App& app, const job::LaunchOption& option, Target& target) {
    std::string description = option.description;
    description[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(description[0])));
    const std::string name = std::string("--") + option.name;
    if constexpr (std::is_same_v<Target, bool>)
        return app.add_flag("-" + name.substr(2, 1) + "," + name, target, description);
    else
        return app.add_option(name, target, description)
            ->type_name(option.value)
            ->check([&option](const std::string& text) { return option.refuse(text); });
}

void add_job(CLI::App& app, Options& options, Words& words) {
    group(app, "What to run, and where");
    words.local_option =
        app.add_option("--local", words.local, "Run on this machine, which plays NODES nodes")
            ->type_name("NODES")
            ->expected(0, 1)
            ->check(CLI::Range(1, 1024));
    app.add_option("--job", options.job_file, "Run the job of a Batch AI job.json")
        ->type_name("FILE");
    app.add_flag("--without-plugin", options.without_plugin,
                 "With --job, where Slurm has no batchai plugin: no mounts; volumes must be "
                 "directories that all nodes have")
        ->excludes(words.local_option);
    app.add_option("--policy", options.policy_file,
                   "Site policy (default: $BATCHAI_POLICY, else /etc/batchai/batchai.toml)")
        ->type_name("FILE");
    auto* dry_run =
        app.add_flag("--dry-run", words.dry_run,
                     "Ask the nodes and print which rank would run where; start no rank");
    app.add_flag("--json", words.json, "With --dry-run: as one JSON document")->needs(dry_run);
}

void add_program(CLI::App& app, ProgramWords& words) {
    group(app, "Each program (\"-n 1 ./a : -n 2 ./b\" are two)");
    app.add_option("-n,--ranks", words.ranks,
                   "Number of ranks, spread evenly over the nodes while they have room")
        ->type_name("N")
        ->check(CLI::Range(1, kMostRanks));
    app.add_option("--env", words.environment, "Set a variable of the ranks; may be repeated")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false)
        ->check([](const std::string& text) {
            const auto equals = text.find('=');
            return std::string(equals == 0 || equals == text.npos ? "write NAME=VALUE" : "");
        });
    app.add_option("--wdir", words.directory, "Directory in which the ranks start, on each node")
        ->type_name("DIR");
}

void add_ranks(CLI::App& app, Options& options, Words& words) {
    group(app, "Ranks");
    app.add_option("--configfile", words.configuration,
                   "Read the programs from this file, one a line: options and command")
        ->type_name("FILE");
    app.add_option("--ranks-per-node", options.ranks_per_node,
                   "Ranks on each node (default: one per GPU, else one per task of the allocation)")
        ->type_name("K")
        ->check(CLI::Range(1, 65536));
    app.add_option("--map", words.map,
                   "block: number the ranks node by node; cyclic: one on each in turn (default: as "
                   "--distribution of the job, else block)")
        ->type_name("ORDER")
        ->check(CLI::IsMember({"block", "cyclic"}));
    app.add_option("--bind", words.bind,
                   "core: each rank runs on cores of its own, near its GPU (default); none: on any")
        ->type_name("TO")
        ->check(CLI::IsMember({"core", "none"}));
    app.add_option("--gpu-visibility", words.visibility,
                   "all: each rank sees all GPUs of its node (default); rank: its own")
        ->type_name("WHICH")
        ->check(CLI::IsMember({"all", "rank"}));
    app.add_option("--horovod", options.settings.horovod,
                   "auto: ranks import the Horovod that is installed for their Python, else "
                   "Batch AI's (default); batchai, system: that one")
        ->type_name("WHICH")
        ->check(CLI::IsMember({"auto", "batchai", "system"}));
    app.add_option("--compat", options.settings.compat,
                   "tf1: give scripts TensorFlow 1's and Keras 2's names on today's TensorFlow")
        ->type_name("NAMES")
        ->check(CLI::IsMember({"tf1"}));
    app.add_option(
           "--interface", options.settings.interface,
           "Network interface of the ranks (default: the one on the route between the nodes)")
        ->type_name("NAME");
    app.add_option("--radix", options.settings.radix,
                   "Children of each node in the tree over which fences go (default: 4)")
        ->type_name("K")
        ->check(CLI::Range(2, 65536));
}

void add_output(CLI::App& app, Options& options, Words& words) {
    group(app, "Output");
    auto* label = add_shared(app, job::kLabel, words.label);
    app.add_flag("--collapse", words.collapse,
                 "Begin each line with its ranks; print equal lines once")
        ->excludes(label);
    app.add_option("--output-dir", options.settings.output_directory,
                   "Write each rank's output also to DIR/rank.N/stdout and stderr")
        ->type_name("DIR")
        ->check(
            [](const std::string& text) { return std::string(text.empty() ? "is empty" : ""); });
}

void add_ends(CLI::App& app, Options& options, Words& words) {
    group(app, "End of the job");
    app.add_option("--timeout", options.settings.timeout,
                   "End the job after this time, with exit code 124")
        ->type_name("SECONDS");
    add_shared(app, job::kHangReport, options.settings.hang_report);
    add_shared(app, job::kGrace, options.settings.grace);
    app.add_option("--end-on", words.end_on,
                   "End the job on this signal too, as Slurm's --signal sends it")
        ->type_name("SIGNAL");
}

void add_second_tries(CLI::App& app, Options& options) {
    group(app, "Restart and requeue");
    auto* restarts = add_shared(app, job::kRestarts, options.restarts.most);
    app.add_option("--min-nodes", options.restarts.min_nodes,
                   "Restart without the lost nodes while at least M nodes are left")
        ->type_name("M")
        ->check(CLI::Range(1, 1 << 20))
        ->needs(restarts);
    auto* requeue_on = add_shared(app, job::kRequeueOn, options.requeue.on)
                           ->delimiter(',')
                           ->allow_extra_args(false);  // the next word may be the command
    add_shared(app, job::kMaxRequeues, options.requeue.most)->needs(requeue_on);
}

void take_words(const Words& words, Options& options) {
    options.local = words.local_option->count() > 0;
    if (options.local && words.local > 0) options.local_nodes = words.local;
    if (!words.end_on.empty()) options.settings.end_on = signal_number(words.end_on);
    if (!words.map.empty()) options.order = words.map == "cyclic" ? Order::cyclic : Order::block;
    options.settings.bind = words.bind != "none";
    options.settings.own_gpus_only = words.visibility == "rank";
    if (words.dry_run) options.settings.dry_run = words.json ? DryRun::json : DryRun::text;
    if (words.label) options.settings.labels = Labels::each_rank;
    if (words.collapse) options.settings.labels = Labels::equal_lines;
}

// Takes options that the command line leaves out from the environment. Returns an error if it
// cannot.
std::optional<std::string> complete(Options& options) {
    if (std::string& directory = options.settings.output_directory; !directory.empty()) {
        std::error_code nowhere;
        directory = std::filesystem::absolute(directory, nowhere);
        if (nowhere) return "the current directory is gone: " + nowhere.message();
    }
    // Inside a job of the plugin, the job file is the job's own.
    if (const char* file = std::getenv("BATCHAI_JOB_FILE");
        file != nullptr && !options.local && options.programs.empty() && options.job_file.empty()) {
        options.job_file = file;
    }
    return std::nullopt;
}

int refuse(const std::string& why) {
    say(why + "; see batchai-launch --help");
    return kOwnFailure;
}

constexpr const char* kNodes = "the nodes are the allocation's (sbatch -N), or played by --local";
constexpr const char* kEnvironment =
    "ranks get the whole environment, and --env NAME=VALUE sets a variable";

// Options of mpirun, mpiexec, srun, torchrun and horovodrun, and the options to use instead.
constexpr std::pair<std::string_view, const char*> kOthers[] = {
    {"-np", "-n N"},
    {"--np", "-n N"},
    {"--num-proc", "-n N"},
    {"--ntasks", "-n N"},
    {"-ppn", "--ranks-per-node K"},
    {"--ppn", "--ranks-per-node K"},
    {"--npernode", "--ranks-per-node K"},
    {"--ntasks-per-node", "--ranks-per-node K"},
    {"--nproc-per-node", "--ranks-per-node K"},
    {"--nproc_per_node", "--ranks-per-node K"},
    {"-N", kNodes},
    {"--nodes", kNodes},
    {"--nnodes", kNodes},
    {"-H", kNodes},
    {"--host", kNodes},
    {"--hosts", kNodes},
    {"--hostfile", kNodes},
    {"--machinefile", kNodes},
    {"-x", kEnvironment},
    {"-env", kEnvironment},
    {"-genv", kEnvironment},
    {"--export", kEnvironment},
    {"-wdir", "--wdir DIR"},
    {"-wd", "--wdir DIR"},
    {"--chdir", "--wdir DIR"},
    {"-D", "--wdir DIR"},
    {"--mca", "write OMPI_MCA_NAME=VALUE before batchai-launch"},
    {"--bind-to", "--bind core or none"},
    {"--map-by", "--map block or cyclic"},
    {"--tag-output", "--label"},
    {"--oversubscribe", "nothing: nodes take as many ranks as --ranks-per-node says"},
    {"--allow-run-as-root", "nothing: root may"},
    {"--master-addr", "nothing: ranks find MASTER_ADDR"},
    {"--master_addr", "nothing: ranks find MASTER_ADDR"},
    {"--rdzv-backend", "nothing: ranks find MASTER_ADDR"},
    {"--rdzv_backend", "nothing: ranks find MASTER_ADDR"},
};

// The hint for an unknown option.
std::string unknown(const std::string& option) {
    const std::string word = option.substr(0, option.find('='));
    const auto* found = std::find_if(std::begin(kOthers), std::end(kOthers),
                                     [&](const auto& other) { return other.first == word; });
    if (found == std::end(kOthers)) return "unknown option " + option;
    return fmt::format("{}: another launcher's option; here: {}", word, found->second);
}

std::string reason(const CLI::ParseError& error) {
    // CLI11 reads "-np" as "-n" with the value "p".
    const std::string why = error.what();
    return why.find("Value p ") == why.npos ? why : unknown("-np");
}

// The command in a parsed line: its words, and whether "--" stands before it.
struct Command {
    std::vector<std::string> words;
    bool literal = false;

    bool begins_with_option() const {
        return !literal && !words.empty() && words[0].starts_with("-");
    }
    bool begins_with(const char* option) const {
        return begins_with_option() && words[0] == option;
    }
};

// Reads options up to the command, whose words CLI11 would otherwise reorder around "--".
Command read_line(CLI::App& app, std::vector<std::string> line) {
    const auto dashes = std::find(line.begin(), line.end(), "--");
    std::vector<std::string> before(std::make_reverse_iterator(dashes), line.rend());
    app.parse(std::move(before));
    Command command{app.remaining()};
    // "--" may stand before the command, or be one of its arguments.
    command.literal = command.words.empty() && dashes != line.end();
    command.words.insert(command.words.end(), command.literal ? dashes + 1 : dashes, line.end());
    return command;
}

// An error of the command line, without the program's name.
using Wrong = sys::Error;

// The program of these options and this command.
sys::Result<Program> make_program(const ProgramWords& words, std::vector<std::string> command) {
    Program program;
    program.ranks = words.ranks.value_or(0);
    program.argv = std::move(command);
    for (const std::string& variable : words.environment) {
        const auto equals = variable.find('=');
        program.environment[variable.substr(0, equals)] = variable.substr(equals + 1);
    }
    if (words.directory.empty()) return program;
    std::error_code nowhere;
    program.directory = std::filesystem::absolute(words.directory, nowhere);
    if (nowhere) return Wrong{"the current directory is gone: " + nowhere.message()};
    return program;
}

// Adds the programs of a command: a ":" in it ends its first program.
sys::Result<void> add_programs(std::vector<Program>& programs, const ProgramWords& words,
                               const Command& command);

// Adds the programs of a line such as "-n 2 --wdir D ./b : ...".
sys::Result<void> read_programs(std::vector<Program>& programs, std::vector<std::string> line) {
    CLI::App app;
    app.set_help_flag();
    app.prefix_command();
    ProgramWords words;
    add_program(app, words);
    Command command;
    try {
        command = read_line(app, std::move(line));
    } catch (const CLI::ParseError& error) {
        return Wrong{reason(error)};
    }
    if (command.begins_with_option()) {
        const std::string why = unknown(command.words[0]);
        return Wrong{why.starts_with("unknown")
                         ? command.words[0] +
                               ": only -n, --env and --wdir are options of a "
                               "program; others stand before the first program. If ':' is an "
                               "argument, write -- before the command"
                         : why};
    }
    return add_programs(programs, words, command);
}

// The name of a program that has ':' between programs itself; empty: another program.
std::string other_launcher(const std::string& program) {
    const std::string name = program.substr(program.rfind('/') + 1);
    for (const char* launcher :
         {"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "srun"})
        if (name == launcher) return name;
    return {};
}

sys::Result<void> add_programs(std::vector<Program>& programs, const ProgramWords& words,
                               const Command& command) {
    const auto colon = command.literal ? command.words.end()
                                       : std::find(command.words.begin(), command.words.end(), ":");
    if (colon == command.words.begin()) return Wrong{"a program is missing before or after ':'"};
    if (const std::string other = other_launcher(command.words.front());
        colon != command.words.end() && !other.empty())
        return Wrong{
            fmt::format("':' after {}: for {}'s own ':', write -- before {}", other, other, other)};
    auto program = make_program(words, {command.words.begin(), colon});
    if (!program) return program.error();
    programs.push_back(*std::move(program));
    if (colon == command.words.end()) return {};
    return read_programs(programs, {colon + 1, command.words.end()});
}

// The programs of --configfile: one a line. A line that begins with "#" is a comment; a line that
// ends with a backslash goes on in the next one.
sys::Result<void> read_configuration(std::vector<Program>& programs, const std::string& path) {
    constexpr std::size_t kMost = 1 << 20;
    const auto text = sys::read_file(path, kMost);
    if (!text) return text.error();
    std::istringstream lines(*text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        const std::string where = fmt::format("{}:{}", path, number);
        for (std::string more; line.ends_with('\\') && std::getline(lines, more); ++number)
            line = line.substr(0, line.size() - 1) + " " + more;
        const auto words = sys::shell_words(line);
        if (!words) return words.error().in(where);
        if (words->empty() || words->front().starts_with('#')) continue;
        if (auto read = read_programs(programs, *words); !read) return read.error().in(where);
    }
    if (programs.empty()) return Wrong{path + ": no program"};
    return {};
}

// Takes the number of ranks of all programs from those of each.
sys::Result<void> count_ranks(Options& options) {
    const std::vector<Program>& programs = options.programs;
    if (programs.size() > 1 && options.ranks_per_node)
        return Wrong{
            "--ranks-per-node is for one program: give each program its number of ranks, -n N"};
    int ranks = 0;
    for (const Program& program : programs) {
        if (program.ranks == 0 && programs.size() > 1)
            return Wrong{"each of several programs needs its number of ranks: -n N before " +
                         sys::printable(program.argv.front()) +
                         ". If ':' is an argument, write -- before the command"};
        ranks += program.ranks;
    }
    if (ranks > kMostRanks) return Wrong{fmt::format("more than {} ranks", kMostRanks)};
    if (ranks > 0) options.ranks = ranks;
    return {};
}

// Takes the programs from the command line or from --configfile.
sys::Result<void> take_programs(Options& options, const std::string& configuration,
                                const ProgramWords& words, const Command& command) {
    if (!configuration.empty() && (words.any() || !command.words.empty()))
        return Wrong{"--configfile has the programs and their options: leave others out"};
    if (command.words.empty() && configuration.empty()) {
        if (words.any() && !options.job_file.empty())
            return Wrong{words.ranks ? "with --job the number of ranks is the job file's: use its "
                                       "processCount"
                                     : "--env and --wdir are for a command: a job file has "
                                       "environmentVariables"};
        options.ranks = words.ranks;
        return {};
    }
    auto read = configuration.empty() ? add_programs(options.programs, words, command)
                                      : read_configuration(options.programs, configuration);
    if (!read) return read;
    return count_ranks(options);
}

}  // namespace

std::variant<Options, int> parse_options(int argc, char** argv) {
    Options options;
    Words words;
    ProgramWords program;
    CLI::App app{
        "Starts the ranks of a parallel program: in a Slurm allocation on its nodes, with --local "
        "on this machine.",
        "batchai-launch"};
    app.footer(
        "Exit code: the first failing rank's; 1 job preparation failed, 123 some output is not in "
        "its\n"
        "file, 124 time-out, 125 failure of batchai-launch itself, 126 command cannot be "
        "executed,\n"
        "127 command not found, 128+N killed by signal N.");
    app.set_version_flag("--version", "batchai-launch " BATCHAI_VERSION);
    app.prefix_command();  // the first word that is not an option begins the command
    add_job(app, options, words);
    add_program(app, program);
    add_ranks(app, options, words);
    add_output(app, options, words);
    add_ends(app, options, words);
    add_second_tries(app, options);

    std::vector<std::string> line(argv + 1, argv + argc);
    Command command;
    try {
        command = read_line(app, line);
    } catch (const CLI::Success& success) {
        return app.exit(success);
    } catch (const CLI::ParseError& error) {
        return refuse(reason(error));
    }
    take_words(words, options);
    options.arguments.assign(argv, argv + argc);
    if (command.begins_with(
            "-configfile")) {  // mpiexec's form; CLI11 knows no long option with one dash
        std::vector<char*> corrected(argv, argv + argc);
        std::string option = "--configfile";
        corrected[argc - command.words.size()] = option.data();
        return parse_options(argc, corrected.data());
    }
    if (command.begins_with_option()) return refuse(unknown(command.words[0]));
    if (auto read = take_programs(options, words.configuration, program, command); !read)
        return refuse(read.error().message);
    if (const auto why = complete(options)) {
        say(*why);
        return kOwnFailure;
    }
    if (const auto wrong = wrong_combination(options)) return refuse(*wrong);
    return options;
}

}  // namespace batchai::launcher
