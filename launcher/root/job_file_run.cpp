// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/job_file_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "job/container.hpp"
#include "job/layout.hpp"
#include "job/plan.hpp"
#include "job/record.hpp"
#include "job/snapshot.hpp"
#include "launcher/common/continued_file.hpp"
#include "launcher/common/readiness.hpp"
#include "launcher/common/say.hpp"
#include "launcher/common/signals.hpp"
#include "sys/clock.hpp"
#include "sys/digest.hpp"
#include "sys/directories.hpp"
#include "sys/file.hpp"
#include "sys/paths.hpp"
#include "sys/private_file.hpp"

namespace batchai::launcher {

namespace fs = std::filesystem;

namespace {

constexpr const char* kOutputFile = "stdout.txt";
constexpr const char* kErrorFile = "stderr.txt";
// Each agent replaces it: below $AZ_BATCHAI_JOB_TEMP it differs from node to node.
constexpr const char* kOwnStdouterr = "$AZ_BATCHAI_STDOUTERR_DIR";

// An error has a line for each mistake of the file. `batchai job check` prints warnings.
sys::Result<job::JobSpec> parse(const std::string& text, const std::string& file) {
    job::ParsedJob parsed = job::parse_job(text, file);
    if (parsed.spec) return std::move(*parsed.spec);
    std::string lines;
    for (const job::Finding& finding : parsed.findings) {
        if (finding.severity != job::Finding::Severity::error) continue;
        lines += (lines.empty() ? "" : "\n") + finding.text();
    }
    return sys::Error{lines};
}

// The directory of a volume without a mount.
sys::Result<std::string> directory_of(const job::Volume& volume, const job::SitePolicy& policy,
                                      bool on_this_machine) {
    auto directory = job::bound_directory(policy, volume);
    if (!directory && on_this_machine) {
        const auto found = job::resolve_volume(policy, volume);
        if (!found) return found.error();
        if ((*found)->login_path.empty())
            return sys::Error{job::describe(volume) +
                              ": with --local only volumes that are directories here work"};
        directory = (*found)->login_path;
    }
    if (!directory) return directory;
    if (!volume.directory.empty()) *directory += "/" + volume.directory;
    std::error_code error;
    if (fs::is_directory(*directory, error)) return directory;
    return sys::Error{job::describe(volume) + ": " + *directory + " is not there"};
}

}  // namespace

sys::Result<std::unique_ptr<JobFileRun>> JobFileRun::load(const std::string& job_file,
                                                          const std::string& policy_file,
                                                          Preparer preparer) {
    const auto text = sys::read_file(job_file, job::kMaxJobBytes);
    if (!text) return text.error();
    auto spec = parse(*text, job_file);
    if (!spec) return spec.error();
    auto policy = job::load_policy(policy_file.empty() ? job::default_policy_file() : policy_file);
    if (!policy) return policy.error();
    std::unique_ptr<JobFileRun> run(new JobFileRun);
    std::error_code nowhere;
    run->file_ = fs::absolute(job_file, nowhere);
    if (nowhere) return sys::Error{"the current directory is gone: " + nowhere.message()};
    run->spec_ = std::move(*spec);
    run->policy_ = std::move(*policy);
    run->preparer_ = preparer;
    if (run->spec_.identity) {
        run->identity_ = *run->spec_.identity;
        run->record_ = fs::path(run->file_).parent_path();
    } else {
        run->identity_.name = fs::path(job_file).stem();
        run->identity_.uuid = random_text().substr(0, 32);
    }
    run->start_time_ = sys::wall_clock();
    return run;
}

JobFileRun::~JobFileRun() {
    output_.reset();  // an open file keeps its directory on NFS
    error_.reset();
    if (scratch_) scratch_->remove();
}

// As in the service, a job on one node has no node name in its log files.
std::string JobFileRun::log_node(const std::string& node) const {
    return spec_.node_count == 1 ? std::string() : node;
}

// Without the job's mounts, its paths lead elsewhere.
sys::Result<void> JobFileRun::check_place() const {
    if (allocation_.local) return {};
    const bool has_mounts = is_in_job_mounts(allocation_.job.own_text());
    if (preparer_ == Preparer::launcher && (has_mounts || asks_for_mounts(env::current())))
        return sys::Error{
            "--without-plugin: the plugin makes this job's mounts: leave the option out"};
    if (has_mounts || preparer_ == Preparer::launcher) return {};
    return sys::Error{
        "the job's mounts and preparation are missing here: run --job in a script submitted with "
        "sbatch --batchai-job, in salloc --batchai-job with 'srun -N1 -n1 --overlap "
        "batchai-launch', or with --local or --without-plugin"};
}

// On nodes with the plugin, the plugin has made them.
sys::Result<void> JobFileRun::make_output_directories() {
    for (std::size_t node = 0; node < allocation_.nodes.size(); ++node) {
        for (const job::JobsDirectory& directory :
             job::directories_to_make(spec_, identity_, variables_of(static_cast<int>(node)))) {
            if (!directory.shared.empty())
                if (auto made = sys::make_shared_directories(directory.shared); !made)
                    return made.error().in("output directory");
            if (auto made = sys::make_directories(directory.path); !made)
                return made.error().in("output directory");
        }
        if (preparer_ == Preparer::plugin) break;
    }
    return {};
}

// Whether each process has its own output files, so that there is no common one.
bool JobFileRun::has_own_outputs() const {
    const auto groups = job::plan_launch(spec_, policy_, {});
    return std::all_of(groups.begin(), groups.end(),
                       [](const job::ProcessGroup& group) { return !group.output.empty(); });
}

sys::Result<void> JobFileRun::open_output() {
    if (auto made = make_output_directories(); !made) return made;
    if (has_own_outputs()) return {};
    std::string line = line_of_requeued(allocation_);
    if (line.empty()) line = kLaunchedAgain;
    for (auto [fd, name] : {std::pair{&output_, kOutputFile}, {&error_, kErrorFile}}) {
        auto created = continue_file(stdouterr_ + "/" + name, line);
        if (!created) return created.error().in("output");
        *fd = std::move(*created);
    }
    return {};
}

sys::Result<void> JobFileRun::prepare(const Allocation& allocation, bool dry_run) {
    allocation_ = allocation;
    if (auto right = check_place(); !right) return right;
    if (const auto refused = job::refused_outputs(spec_, policy_); !refused.empty())
        return sys::Error{fmt::format("{}: {}.pathPrefix: {}", file_,
                                      refused.front().directory->key, refused.front().message)};
    auto image = job::resolve_image(policy_, spec_);
    if (!image) return image.error();
    image_ = *std::move(image);
    if (preparer_ == Preparer::launcher) {
        const int nodes = allocation_.local ? 1 : spec_.node_count;
        if (auto able = job::check_unmounted_container(image_, nodes); !able) return able;
        if (!dry_run) {
            if (auto taken = take_record(); !taken) return taken;
        }
        if (auto read = read_secrets(); !read) return read;
        if (auto made = make_places(); !made) return made;
    }
    stdouterr_ = job::stdouterr_directory(spec_, identity_, variables_of(0));
    if (!dry_run) {
        if (auto opened = open_output(); !opened) return opened;
    }
    const int nodes = static_cast<int>(allocation.nodes.size());
    if (nodes == spec_.node_count) return {};
    return sys::Error{fmt::format("{}: nodeCount is {}, but {} {} node{}", file_, spec_.node_count,
                                  allocation.local ? "--local says" : "the allocation has", nodes,
                                  nodes == 1 ? "" : "s")};
}

// Reads secrets from the user's own files. The plugin reads the site's as root.
sys::Result<void> JobFileRun::read_secrets() {
    for (job::Variable& secret : spec_.secrets) {
        if (!secret.reference) continue;
        const auto file = job::own_secret_file(policy_, secret);
        if (!file) return file.error();
        auto text = sys::read_own_secret(*file);
        if (!text) return text.error();
        secret.value = *std::move(text);
    }
    return {};
}

// Makes a record for a job in an allocation whose file is no snapshot, as the plugin would. If
// Slurm requeues the job, it has the same record, and so the same output directory.
sys::Result<void> JobFileRun::take_record() {
    if (allocation_.local || !record_.empty()) return {};
    const auto text = sys::read_file(file_, job::kMaxJobBytes);
    if (!text) return text.error();
    const std::string cluster = env::value_of(env::current(), "SLURM_CLUSTER_NAME");
    identity_.uuid =
        sys::sha256(cluster + '\0' + allocation_.job.whole_text() + '\0' + file_).substr(0, 32);
    const auto snapshot = job::write_snapshot(job::parse_job(*text, file_), file_, identity_, {});
    if (!snapshot) return snapshot.error();
    file_ = *snapshot;
    record_ = fs::path(file_).parent_path();
    return {};
}

// In the record, which is on a file system that login and compute nodes share. A dry run has none.
sys::Result<Scratch> JobFileRun::make_scratch() const {
    if (allocation_.local || record_.empty()) return Scratch::make();
    if (allocation_.restarts > 0) {  // an earlier run may have lost its node
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator(record_, ignored))
            if (entry.path().filename().string().starts_with("running."))
                fs::remove_all(entry.path(), ignored);
    }
    return Scratch::make_in(record_, "running");
}

// Makes links to the job's volumes, in place of the plugin's mounts.
sys::Result<void> JobFileRun::make_places() {
    if (!image_.say.empty()) say(image_.say);
    if (auto there = job::check_container(policy_, image_); !there) return there;
    block_signals(handled_signals());  // the coordinator handles them, and the directory goes
    auto scratch = make_scratch();
    if (!scratch) return scratch.error();
    scratch_ = std::move(*scratch);
    places_ = scratch_->directory;
    std::error_code error;
    fs::create_directories(places_ + "/mnt", error);
    fs::create_directories(shared_directory(), error);
    for (std::size_t n = 0; n < allocation_.nodes.size(); ++n) {
        fs::create_directories(fmt::format("{}/temp-{}/{}", places_, n, job::kWorking), error);
    }
    if (error) return sys::Error{"making " + places_ + ": " + error.message()};
    for (const job::Volume& volume : job::volumes_of(spec_, policy_)) {
        const auto directory = directory_of(volume, policy_, allocation_.local);
        if (!directory && volume.kind == job::Volume::Kind::cluster) {
            say(directory.error().message + "; left out");  // few jobs need all site volumes
            continue;
        }
        if (!directory) return directory.error();
        const fs::path link = fs::path(places_ + "/mnt") / volume.relative_mount_path;
        fs::create_directories(link.parent_path(), error);
        fs::create_directory_symlink(*directory, link, error);
        if (error) return sys::Error{link.string() + ": " + error.message()};
        if (volume.kind != job::Volume::Kind::cluster) volumes_ += *directory + '\n';
    }
    return {};
}

Session JobFileRun::session(const LaunchSettings& settings, Order order) const {
    Session session;
    session.allocation = allocation_;
    session.settings = settings;
    LaunchSettings& all = session.settings;
    if (!all.timeout) all.timeout = spec_.time_limit;
    if (all.horovod.empty()) all.horovod = image_.horovod;
    if (all.compat.empty()) all.compat = image_.compat;
    // The service set no TF_CONFIG for these job files. With one, Horovod users' estimators would
    // start as workers of parameter servers.
    session.tensorflow = false;
    if (output_ && error_) {
        // The paths outside of the job: the mounts, or the links, end with the job.
        std::error_code unknown;
        const std::string directory =
            job::login_stdouterr_directory(spec_, policy_, identity_)
                .value_or(fs::weakly_canonical(stdouterr_, unknown).string());
        session.output.output = {output_.get(), directory + "/" + kOutputFile};
        session.output.error = {error_.get(), directory + "/" + kErrorFile};
    }
    session.output_is_ours = false;
    session.owned_directory = places_;
    session.record = record_;
    session.plan = [this, order](const std::vector<Hello>& nodes) { return plan(nodes, order); };
    return session;
}

// It stays with the record, if there is one.
std::string JobFileRun::shared_directory() const {
    return (record_.empty() ? places_ : record_) + "/shared";
}

// As in the service. The plugin or make_places() has made it.
std::string JobFileRun::working_directory(int node) const {
    return variables_of(node)["AZ_BATCHAI_JOB_TEMP"] + "/" + job::kWorking;
}

// The job's variables on a node: the plugin's, or those made here.
job::Environment JobFileRun::variables_of(int node, int gpus) const {
    if (preparer_ == Preparer::plugin) return env::current();
    job::NodeContext context;
    context.mount_root = places_ + "/mnt";
    context.job_temp = fmt::format("{}/temp-{}", places_, node);
    context.shared_temp = shared_directory();
    context.gpus = gpus;
    context.hosts = allocation_.nodes;
    if (allocation_.local) context.hosts.assign(allocation_.nodes.size(), "127.0.0.1");
    return job::job_environment(spec_, identity_, context);
}

// least_gpus: the smallest number of GPUs of any node. The service's nodes were alike, and scripts
// compute with this number.
env::Environment JobFileRun::environment_of(const Hello& node, int least_gpus) const {
    if (preparer_ == Preparer::plugin) {  // it has set the others
        env::Environment environment;
        for (const char* name : {"AZ_BATCHAI_NUM_GPUS", "AZ_BATCHAI_NUM_GPUS_PER_NODE"})
            environment[name] = std::to_string(least_gpus);
        return environment;
    }
    job::Environment environment = variables_of(node.node, least_gpus);
    environment["BATCHAI_JOB_FILE"] = file_;
    environment["BATCHAI_POLICY"] = policy_.file;
    return environment;
}

// The output directories of an earlier run. This run uses the same ones.
env::Environment JobFileRun::earlier_outputs(int node) const {
    env::Environment earlier;
    const job::Environment variables = variables_of(node);
    for (const job::OutputDirectory& output : spec_.outputs)
        earlier["AZ_BATCHAI_PREV_OUTPUT_" + output.id] =
            env::value_of(variables, "AZ_BATCHAI_OUTPUT_" + output.id);
    return earlier;
}

// On nodes with the plugin, the plugin has run the preparation.
std::vector<std::string> JobFileRun::preparation_of(const Hello& node,
                                                    const env::Environment& environment) const {
    if (preparer_ == Preparer::plugin) return {};
    std::vector<std::string> argv{sys::sibling_program("batchai-prep"),
                                  "--output",
                                  stdouterr_,
                                  "--name",
                                  node.name,
                                  "--timeout",
                                  std::to_string(policy_.preparation_timeout)};
    const auto add = [&argv](const char* option, const std::string& value) {
        if (!value.empty()) argv.insert(argv.end(), {option, value});
    };
    std::error_code error;
    add("--outside", fs::canonical(stdouterr_, error));  // the links' targets remain after the job
    add("--node", log_node(node.name));
    add("--record", record_);
    add("--volumes", volumes_);
    add("--expect", job::script_path(spec_, environment, image_));
    return argv;
}

// The values from the file, and from each node's environment.
Secrets JobFileRun::secrets(const std::vector<env::Environment>& environments) const {
    Secrets secrets;
    for (const job::Variable& secret : spec_.secrets) {
        if (!secret.value.empty()) secrets.emplace_back(secret.name, secret.value);
        // The plugin has read the value of a secret that is a reference.
        if (const std::string own = env::value_of(env::current(), secret.name); !own.empty())
            secrets.emplace_back(secret.name, own);
        for (const env::Environment& environment : environments) {
            const auto found = environment.find(secret.name);
            if (found != environment.end()) secrets.emplace_back(*found);
        }
    }
    return secrets;
}

// The container's command, the same on all nodes.
sys::Result<std::vector<std::string>> JobFileRun::container_prefix(
    const std::string& directory) const {
    job::ContainerPlaces places{policy_.mount_root, policy_.job_temp, directory,
                                ::geteuid(),        ::getegid(),      spec_.shm_size};
    if (preparer_ == Preparer::launcher) {
        places.mount_root = places_ + "/mnt";
        places.job_temp = fs::path(places_).parent_path();
    }
    return job::container_prefix(policy_, image_, places);
}

// Places the processes of all groups, group by group.
sys::Result<RankMap> JobFileRun::map_of(const std::vector<job::ProcessGroup>& groups,
                                        const std::vector<Hello>& nodes, Order order) {
    RankRequest request;
    request.ranks = 0;
    request.order = order;
    int in_turn = 0;
    for (const job::ProcessGroup& group : groups) {
        if (group.placement == job::Placement::first_node) request.first_node_only = true;
        (group.placement == job::Placement::in_turn ? in_turn : *request.ranks) += group.count;
    }
    auto map = make_map(sizes_of(nodes, {}), request);
    if (map && in_turn > 0) add_in_turn(*map, in_turn);
    return map;
}

Program JobFileRun::program_of_group(const job::ProcessGroup& group,
                                     const std::vector<std::string>& container) const {
    Program program;
    program.ranks = group.count;
    program.argv = container;
    program.argv.insert(program.argv.end(), {"/bin/bash", "-c", group.command});
    program.name = group.name;
    program.first_index = group.first_index;
    program.is_mpi = group.is_mpi;
    program.serves = group.serves;
    program.variables = group.variables;
    for (const auto* variables : {&spec_.environment, &spec_.secrets}) {
        for (const job::Variable& own : *variables) program.variables.erase(own.name);
    }
    if (!group.output.empty())
        program.output = fmt::format("{}/{{stream}}-{}.txt", kOwnStdouterr, group.output);
    return program;
}

// The plugin's helper has written the file with the GPUs of its own node. It does not know those of
// other nodes, which may be more or fewer with --gpus.
std::string JobFileRun::host_file(const std::vector<Hello>& nodes) const {
    const bool alike = std::all_of(nodes.begin(), nodes.end(), [&nodes](const Hello& node) {
        return node.gpus == nodes.front().gpus;
    });
    if (preparer_ == Preparer::plugin && alike) return {};
    std::vector<job::HostSlots> hosts;
    for (const NodeSize& size : sizes_of(nodes, allocation_.tasks))
        hosts.push_back({allocation_.local ? "127.0.0.1" : size.name, size.gpus, size.tasks});
    return job::host_file(hosts);
}

sys::Result<Work> JobFileRun::plan(const std::vector<Hello>& nodes, Order order) const {
    std::vector<int> gpus;
    for (const Hello& node : nodes) gpus.push_back(node.gpus);
    const auto groups = job::plan_launch(spec_, policy_, gpus);
    auto map = map_of(groups, nodes, order);
    if (!map) return map.error();
    Work work;
    work.map = *map;
    if (groups.front().placement == job::Placement::first_node) work.role = Role::script;
    for (const Hello& node : nodes) work.directories.push_back(working_directory(node.node));
    work.directory = work.directories.front();
    auto container = container_prefix(work.directory);
    if (!container) return container.error();
    for (const job::ProcessGroup& group : groups)
        work.programs.push_back(program_of_group(group, *container));
    work.host_file = host_file(nodes);
    // Every user of the machine can read arguments, and the note may quote the command. So it goes
    // through standard input.
    const job::Preparation preparation = job::resolve_preparation(policy_, spec_);
    work.preparation_input =
        preparation.note + '\0' + job::in_container(*container, preparation.command);
    for (const Hello& node : nodes) {
        env::Environment environment =
            environment_of(node, *std::min_element(gpus.begin(), gpus.end()));
        work.preparations.push_back(preparation_of(node, environment));
        work.environments.push_back(std::move(environment));
        work.of_retries.push_back(earlier_outputs(node.node));
        work.execution_logs.push_back(std::string(kOwnStdouterr) + "/" +
                                      job::execution_log_name(log_node(node.name)));
    }
    work.secrets = secrets(work.environments);
    return work;
}

void JobFileRun::log_failure(const SessionResult& result) const {
    const bool log = result.exit_code != 0 && !result.failure.empty() && !result.logged;
    if (log && !stdouterr_.empty()) {
        for (const std::string& node : allocation_.nodes) {
            (void)job::append_execution_log(
                stdouterr_ + "/" + job::execution_log_name(log_node(node)), result.failure);
        }
    }
    if (log && !record_.empty()) {
        (void)job::append_event(record_, {job::Event::Kind::failed, sys::wall_clock(), job::kNoNode,
                                          "JobFailed", result.failure});
    }
}

void JobFileRun::finish(const SessionResult& result) const {
    if (record_.empty()) return;
    const auto written =
        job::write_result(record_, {start_time_, sys::wall_clock(), result.exit_code,
                                    result.exit_code == 0 ? "" : result.failure, result.node,
                                    result.details, result.error_file});
    if (!written) say("the job's result is not in its record: " + written.error().message);
}

}  // namespace batchai::launcher
