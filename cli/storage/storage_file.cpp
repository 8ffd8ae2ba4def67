// SPDX-License-Identifier: Apache-2.0
//
// storage file upload, download, list and delete.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "cli/command_options.hpp"
#include "cli/output/result_table.hpp"
#include "cli/output/time_text.hpp"
#include "cli/storage/shares.hpp"
#include "cli/verbs.hpp"

namespace batchai::cli {
namespace {

constexpr int kBarWidth = 40;

struct TransferArgs {
    ShareName share;
    std::string path;
    std::string source;
    std::string destination = ".";
};

// A progress bar if stderr is a terminal, and nothing otherwise.
Progress progress_bar() {
    if (isatty(STDERR_FILENO) == 0) return {};
    return [](std::int64_t done, std::int64_t total) {
        const auto filled =
            static_cast<std::size_t>(total > 0 ? done * kBarWidth / total : kBarWidth);
        fmt::print(
            stderr, "\r{}[{:<{}}] {:5.1f}%", done >= total ? "Finished" : "Alive   ",
            std::string(filled, '#'), kBarWidth,
            total > 0 ? 100.0 * static_cast<double>(done) / static_cast<double>(total) : 100);
        if (done >= total) fmt::print(stderr, "\n");
    };
}

int upload(const Session&, const TransferArgs& args, const ShareFiles& files) {
    const auto done = files.upload(args.source, args.path, progress_bar());
    return done ? kOk : fail(kFailed, done.error());
}

int download(const Session&, const TransferArgs& args, const ShareFiles& files) {
    const auto done = files.download(args.path, args.destination, progress_bar());
    return done ? kOk : fail(kFailed, done.error());
}

nlohmann::json entry_json(const ShareEntry& entry) {
    const nlohmann::json length =
        entry.is_directory ? nlohmann::json() : nlohmann::json(entry.size);
    return {
        {"name", entry.name},
        {"type", entry.is_directory ? "dir" : "file"},
        {"properties", {{"contentLength", length}, {"lastModified", iso_seconds(entry.modified)}}}};
}

Table file_table(const nlohmann::json& rows) {
    return table_of(rows, {{"Name", "name"},
                           {"Content Length", "properties/contentLength"},
                           {"Type", "type"},
                           {"Last Modified", "properties/lastModified"}});
}

int list(const Session& session, const TransferArgs& args, const ShareFiles& files) {
    const auto entries = files.list(args.path);
    if (!entries) return fail(kFailed, entries.error());
    auto result = nlohmann::json::array();
    for (const auto& entry : *entries) result.push_back(entry_json(entry));
    return session.print(result, file_table);
}

int exists(const Session& session, const TransferArgs& args, const ShareFiles& files) {
    return session.print({{"exists", files.is_file(args.path)}});
}

int remove(const Session&, const TransferArgs& args, const ShareFiles& files) {
    const auto gone = files.remove_file(args.path);
    if (!gone) return fail(kFailed, gone.error());
    if (!*gone) return fail(kBadInput, "file " + args.path + ": not found on the share");
    return kOk;
}

using FileAction = int (*)(const Session&, const TransferArgs&, const ShareFiles&);

std::shared_ptr<TransferArgs> add_file(CLI::App& verb, Session& session, FileAction action) {
    const auto args = std::make_shared<TransferArgs>();
    add_share_options(verb, args->share, "-s,--share-name");
    set_share_action(verb, session, args, action);
    return args;
}

CLI::Option* add_path(CLI::App& verb, TransferArgs& args, const char* description) {
    return verb.add_option("-p,--path", args.path, description)->check(kSharePath);
}

}  // namespace

void add_storage_files(CLI::App& parent, Session& session) {
    CLI::App* verb =
        add_verb(parent, session, "upload", "copy a file to a share",
                 "batchai storage file upload --share-name myshare --path cifar --source train.py");
    auto args = add_file(*verb, session, upload);
    verb->add_option("--source", args->source, "local file")->required();
    add_path(*verb, *args, "where on the share: a directory or a file's new name");
    ignore_options(*verb, {"--content-type", "--max-connections", "--metadata"});
    ignore_flags(*verb, {"--no-progress", "--validate-content"});

    verb = add_verb(parent, session, "download", "copy a file from a share",
                    "batchai storage file download --share-name myshare --path cifar/model.h5");
    args = add_file(*verb, session, download);
    add_path(*verb, *args, "the file on the share")->required();
    verb->add_option("--dest", args->destination, "local file or directory")->capture_default_str();
    ignore_options(*verb, {"--max-connections"});
    ignore_flags(*verb, {"--no-progress", "--validate-content"});

    verb = add_verb(parent, session, "list", "list a directory of a share",
                    "batchai storage file list --share-name myshare --path cifar -o table");
    add_path(*verb, *add_file(*verb, session, list), "the directory on the share");

    verb = add_verb(parent, session, "exists", "print whether a file exists",
                    "batchai storage file exists --share-name myshare --path cifar/train.py");
    add_path(*verb, *add_file(*verb, session, exists), "the file on the share")->required();

    verb = add_verb(parent, session, "delete", "delete a file of a share",
                    "batchai storage file delete --share-name myshare --path cifar/old.h5");
    add_path(*verb, *add_file(*verb, session, remove), "the file on the share")->required();

    add_storage_batches(parent, session, job::Volume::Kind::share);
}

}  // namespace batchai::cli
