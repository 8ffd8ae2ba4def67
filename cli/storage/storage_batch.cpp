// SPDX-License-Identifier: Apache-2.0
//
// storage file|blob upload-batch, download-batch and storage blob delete-batch: whole directories.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/command_options.hpp"
#include "cli/storage/shares.hpp"
#include "cli/verbs.hpp"
#include "sys/directories.hpp"
#include "sys/file.hpp"
#include "sys/user_path.hpp"

namespace batchai::cli {
namespace {

namespace fs = std::filesystem;

struct BatchArgs {
    ShareName share;  // SHARE, or SHARE/DIRECTORY
    std::string local;
    std::string path;     // the directory on the share
    std::string pattern;  // glob for a file's path below the directory
    bool dry_run = false;
};

bool wanted(const BatchArgs& args, const std::string& name) {
    return args.pattern.empty() || ::fnmatch(args.pattern.c_str(), name.c_str(), 0) == 0;
}

// As in az: the share may be a URL, and a directory may follow it.
void split_share(BatchArgs& args) {
    std::string& share = args.share.share;
    if (const auto scheme = share.find("://"); scheme != std::string::npos) {
        const auto host = share.find('/', scheme + 3);
        share = host == std::string::npos ? "" : share.substr(host + 1);
    }
    const auto slash = share.find('/');
    if (slash == std::string::npos) return;
    args.path = share.substr(slash + 1) + (args.path.empty() ? "" : "/" + args.path);
    share.erase(slash);
}

// Whether the local file is to be copied: a regular file, or a link of the user's own to one. A
// link to nothing is left out, like a FIFO.
sys::Result<bool> is_copied(const std::string& path, const ShareEntry& entry) {
    if (!S_ISLNK(entry.mode)) return S_ISREG(entry.mode);
    if (sys::is_missing(path)) return false;
    const auto place = sys::find_user_path(path);
    if (!place) return place.error();
    return S_ISREG(place->info.st_mode);
}

sys::Result<std::vector<std::string>> local_files(const BatchArgs& args) {
    const auto top = sys::open_user_directory(args.local);
    if (!top) return top.error();
    const auto files = files_below(top->get());
    if (!files) return files.error().in(args.local);
    std::vector<std::string> names;
    for (const ShareEntry& entry : *files) {
        if (!wanted(args, entry.name)) continue;
        const auto copied = is_copied(args.local + "/" + entry.name, entry);
        if (!copied) return copied.error();
        if (*copied) names.push_back(entry.name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

int upload(const Session& session, const BatchArgs& args, const ShareFiles& files) {
    const auto names = local_files(args);
    if (!names) return fail(kBadInput, names.error());
    auto done = nlohmann::json::array();
    for (const auto& name : *names) {
        const fs::path to = fs::path(args.path) / name;
        if (!args.dry_run) {
            if (auto made = files.make_directories(to.parent_path()); !made)
                return fail(kFailed, made.error());
            const auto copied = files.upload(args.local + "/" + name, to, {});
            if (!copied) return fail(kFailed, copied.error());
        }
        done.push_back(to.string());
    }
    return session.print(done);
}

sys::Result<std::vector<std::string>> files_there(const BatchArgs& args, const ShareFiles& files) {
    const auto tree = files.tree(args.path);
    if (!tree) return tree.error();
    std::vector<std::string> names;
    for (const auto& entry : *tree)
        if (wanted(args, entry.name)) names.push_back(entry.name);
    return names;
}

int download(const Session& session, const BatchArgs& args, const ShareFiles& files) {
    const auto names = files_there(args, files);
    if (!names) return fail(kFailed, names.error());
    for (const auto& name : *names) {
        if (args.dry_run) continue;
        const fs::path to = fs::path(args.local) / name;
        if (auto made = sys::make_directories(to.parent_path()); !made)
            return fail(kFailed, made.error());
        const auto copied = files.download(args.path + "/" + name, to, {});
        if (!copied) return fail(kFailed, copied.error());
    }
    return session.print(*names);
}

int remove(const Session& session, const BatchArgs& args, const ShareFiles& files) {
    const auto names = files_there(args, files);
    if (!names) return fail(kFailed, names.error());
    for (const auto& name : *names) {
        if (args.dry_run) continue;
        const auto gone = files.remove_file(args.path + "/" + name);
        if (!gone) return fail(kFailed, gone.error());
    }
    return session.print(*names);
}

using BatchAction = int (*)(const Session&, const BatchArgs&, const ShareFiles&);

std::shared_ptr<BatchArgs> add_batch(CLI::App& verb, Session& session, job::Volume::Kind kind,
                                     BatchAction action, const char* share_option) {
    const auto args = std::make_shared<BatchArgs>();
    args->share.kind = kind;
    add_share_options(verb, args->share, share_option);
    verb.add_option("--pattern", args->pattern, "only files whose path matches this glob");
    verb.add_flag("--dryrun", args->dry_run, "say which files, and do nothing");
    ignore_options(verb, {"--max-connections"});
    ignore_flags(verb, {"--no-progress", "--validate-content"});
    set_action(verb, session, args, [action](const Session& own, BatchArgs& given) {
        split_share(given);
        return with_share(given.share,
                          [&](const ShareFiles& files) { return action(own, given, files); });
    });
    return args;
}

}  // namespace

void add_storage_batches(CLI::App& parent, Session& session, job::Volume::Kind kind) {
    const bool is_blob = kind == job::Volume::Kind::blob_container;
    const std::string command = is_blob ? "batchai storage blob " : "batchai storage file ";
    const std::string where = is_blob ? "container" : "share";

    CLI::App* verb = add_verb(parent, session, "upload-batch", "copy a folder to a " + where,
                              command + "upload-batch --destination my" + where + " --source data");
    auto args = add_batch(*verb, session, kind, upload, "-d,--destination");
    verb->add_option("-s,--source", args->local, "local folder")->required();
    verb->add_option("--destination-path", args->path, "folder on the " + where)->check(kSharePath);
    ignore_options(*verb, {"--content-type", "--metadata", "-t,--type", "--tier"});
    ignore_flags(*verb, {"--overwrite"});

    verb = add_verb(parent, session, "download-batch", "copy a " + where + " to a folder",
                    command + "download-batch --source my" + where + " --destination data");
    args = add_batch(*verb, session, kind, download, "-s,--source");
    verb->add_option("-d,--destination", args->local, "local folder")->required();
    ignore_flags(*verb, {"--overwrite"});

    if (!is_blob) return;
    verb = add_verb(parent, session, "delete-batch", "delete the files of a container",
                    command + "delete-batch --source mycontainer --pattern 'old/*'");
    add_batch(*verb, session, kind, remove, "-s,--source");
}

}  // namespace batchai::cli
