// SPDX-License-Identifier: Apache-2.0
//
// job file list and job file stream: the files in the job's stdouterr directory, as this machine
// sees them through the share's login_path.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <thread>

#include "cli/command_options.hpp"
#include "cli/job/job_files.hpp"
#include "cli/job/job_input.hpp"
#include "cli/job/job_name.hpp"
#include "cli/output/result_table.hpp"
#include "cli/output/time_text.hpp"
#include "cli/verbs.hpp"
#include "job/layout.hpp"
#include "slurm/poll.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

namespace fs = std::filesystem;

constexpr auto kReadPause = std::chrono::milliseconds(200);

struct FileArgs {
    JobName job;
    std::string directory = "stdouterr";
    std::string path = ".";
    std::string file;
};

// A job and the directory of it that the options name.
struct OpenOutput {
    NamedJob job;
    std::string directory;
};
sys::Result<OpenOutput> open_output(const FileArgs& args) {
    auto job = open_job(args.job);
    if (!job) return job.error();
    auto directory = output_directory(*job, args.directory, args.path);
    if (!directory) return directory.error();
    return OpenOutput{*std::move(job), *std::move(directory)};
}

std::string url_of(const std::string& path) {
    return "file://" + path;
}

nlohmann::json entry_json(const fs::path& path) {
    nlohmann::json entry{{"name", path.filename().string()},
                         {"contentLength", nullptr},
                         {"downloadUrl", nullptr},
                         {"fileType", "directory"},
                         {"lastModified", nullptr}};
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || S_ISDIR(status.st_mode)) return entry;
    entry["contentLength"] = static_cast<std::int64_t>(status.st_size);
    entry["downloadUrl"] = url_of(path);
    entry["fileType"] = "file";
    entry["lastModified"] = iso_seconds(static_cast<double>(status.st_mtim.tv_sec));
    return entry;
}

sys::Result<nlohmann::json> list_directory(const std::string& directory) {
    std::vector<fs::path> paths;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(directory, error))
        paths.push_back(entry.path());
    if (error && error != std::errc::no_such_file_or_directory)
        return sys::Error{directory + ": " + error.message()};
    std::sort(paths.begin(), paths.end());
    auto entries = nlohmann::json::array();
    for (const auto& path : paths) entries.push_back(entry_json(path));
    return entries;
}

Table file_table(const nlohmann::json& entries) {
    return table_of(entries, {{"Name", "name"},
                              {"Type", "fileType"},
                              {"Size", "contentLength"},
                              {"Modified", "lastModified"}});
}

int list(const Session& session, const FileArgs& args) {
    const auto open = open_output(args);
    if (!open) return fail(kBadInput, open.error());
    const auto entries = list_directory(open->directory);
    if (!entries) return fail(kFailed, entries.error());
    return session.print(*entries, file_table);
}

sys::Result<void> write_out(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return sys::errno_error("standard output");
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

// An error if the job writes files with other names in place of this one, which is not there.
sys::Result<void> check_planned(const NamedJob& job, const FileArgs& args) {
    if (args.directory != "stdouterr" || args.path != ".") return {};
    const auto spec = read_spec(job.store, job.row);
    const auto policy = load_job_policy(job.store, job.row);
    if (!spec || !policy) return spec ? policy.error() : spec.error();
    const std::string instead = files_instead_of(args.file, *spec, *policy);
    if (instead.empty()) return {};
    return sys::Error{fmt::format("--file-name {}: job {} writes no such file, but {}", args.file,
                                  job.row.identity.name, instead)};
}

int stream(const FileArgs& args) {
    auto open = open_output(args);
    if (!open) return fail(kBadInput, open.error());
    if (args.file.find('/') != std::string::npos || args.file == "..")
        return fail(kBadInput, "--file-name " + args.file +
                                   ": must be a name: give its directory with --path");

    const std::string path = open->directory + "/" + args.file;
    FileFollower file(path, write_out);
    if (!file.exists())
        if (const auto planned = check_planned(open->job, args); !planned)
            return fail(kBadInput, planned.error());
    JobWatch watch(open->job);
    slurm::Poll poll;
    FollowCallbacks callbacks;
    callbacks.is_over = [&]() -> sys::Result<bool> {
        if (!poll.due()) return false;
        const auto execution = watch.now();
        if (!execution) return execution.error();
        return execution->over();
    };
    callbacks.waiting = [&] {
        std::cerr << fmt::format("The file \"{}\" not found. Waiting for the job to generate it.\n",
                                 sys::printable(args.file));
    };
    callbacks.found = [&] {
        std::cerr << fmt::format("File found with URL \"{}\". Start streaming\n",
                                 sys::printable(url_of(path)));
    };
    callbacks.pause = [] { std::this_thread::sleep_for(kReadPause); };
    const auto found = follow(file, callbacks);
    if (!found) return fail(kFailed, found.error());
    if (*found) return kOk;
    std::cerr << fmt::format("The file \"{}\" not found for the completed job.\n",
                             sys::printable(args.file));
    return kFailed;
}

void add_directory_options(CLI::App& verb, FileArgs& args) {
    add_job_name(verb, args.job);
    verb.add_option("-d,--output-directory-id", args.directory, "output directory")
        ->capture_default_str();
    verb.add_option("-p,--path", args.path, "folder below it")->capture_default_str();
    ignore_options(verb, {"--expiry"});
}

}  // namespace

void add_job_files(CLI::App& parent, Session& session) {
    CLI::App* verb = add_verb(parent, session, "list", "list a job's output files",
                              "batchai job file list -j train -o table");
    const auto args = std::make_shared<FileArgs>();
    add_directory_options(*verb, *args);
    set_action(*verb, session, args, list);

    verb =
        add_verb(parent, session, "stream", "print an output file as it grows, until the job ends",
                 "batchai job file stream -j train -f stdout.txt");
    add_directory_options(*verb, *args);
    verb->add_option("-f,--file-name", args->file, "the file")->required();
    set_action(*verb, session, args, stream);
}

}  // namespace batchai::cli
