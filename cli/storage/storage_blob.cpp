// SPDX-License-Identifier: Apache-2.0
//
// storage blob upload, download, list and delete. A blob's name is a path in the container.
#include <filesystem>
#include <memory>

#include "cli/command_options.hpp"
#include "cli/output/result_table.hpp"
#include "cli/output/time_text.hpp"
#include "cli/storage/shares.hpp"
#include "cli/verbs.hpp"

namespace batchai::cli {
namespace {

struct BlobArgs {
    ShareName share{job::Volume::Kind::blob_container, "", ""};
    std::string name;
    std::string file;
    std::string prefix;
};

int upload(const Session& session, const BlobArgs& args, const ShareFiles& files) {
    const std::filesystem::path source(args.file);
    const std::string name = args.name.empty() ? source.filename().string() : args.name;
    const std::string folder = std::filesystem::path(name).parent_path();
    if (auto made = files.make_directories(folder); !made) return fail(kFailed, made.error());
    const auto done = files.upload(args.file, name, {});
    if (!done) return fail(kFailed, done.error());
    return session.print({{"etag", nullptr}, {"lastModified", nullptr}, {"name", *done}});
}

int download(const Session& session, const BlobArgs& args, const ShareFiles& files) {
    const auto done = files.download(args.name, args.file.empty() ? "." : args.file, {});
    if (!done) return fail(kFailed, done.error());
    return session.print({{"file", *done}, {"name", args.name}});
}

int list(const Session& session, const BlobArgs& args, const ShareFiles& files) {
    const auto entries = files.tree("");
    if (!entries) return fail(kFailed, entries.error());
    auto result = nlohmann::json::array();
    for (const auto& entry : *entries)
        if (entry.name.starts_with(args.prefix))
            result.push_back({{"name", entry.name},
                              {"properties",
                               {{"blobType", "BlockBlob"},
                                {"contentLength", entry.size},
                                {"lastModified", iso_seconds(entry.modified)}}}});
    return session.print(result, [](const nlohmann::json& rows) {
        return table_of(rows, {{"Name", "name"},
                               {"Blob Type", "properties/blobType"},
                               {"Length", "properties/contentLength"},
                               {"Last Modified", "properties/lastModified"}});
    });
}

int exists(const Session& session, const BlobArgs& args, const ShareFiles& files) {
    return session.print({{"exists", files.is_file(args.name)}});
}

int remove(const Session&, const BlobArgs& args, const ShareFiles& files) {
    const auto gone = files.remove_file(args.name);
    if (!gone) return fail(kFailed, gone.error());
    if (!*gone) return fail(kBadInput, "blob " + args.name + ": not found in the container");
    return kOk;
}

using BlobAction = int (*)(const Session&, const BlobArgs&, const ShareFiles&);

std::shared_ptr<BlobArgs> add_blob(CLI::App& verb, Session& session, BlobAction action) {
    const auto args = std::make_shared<BlobArgs>();
    add_share_options(verb, args->share, "-c,--container-name");
    set_share_action(verb, session, args, action);
    return args;
}

}  // namespace

void add_storage_blobs(CLI::App& parent, Session& session) {
    CLI::App* verb = add_verb(parent, session, "upload", "copy a file to a container",
                              "batchai storage blob upload -c images -f cat.jpg -n 2018/cat.jpg");
    auto args = add_blob(*verb, session, upload);
    verb->add_option("-f,--file", args->file, "local file")->required();
    verb->add_option("-n,--name", args->name, "its path in the container")->check(kDirectory);
    ignore_options(*verb,
                   {"-t,--type", "--content-type", "--metadata", "--max-connections", "--tier"});
    ignore_flags(*verb, {"--no-progress", "--validate-content", "--overwrite"});

    verb = add_verb(parent, session, "download", "copy a file from a container",
                    "batchai storage blob download -c images -n 2018/cat.jpg -f cat.jpg");
    args = add_blob(*verb, session, download);
    verb->add_option("-n,--name", args->name, "its path in the container")
        ->check(kDirectory)
        ->required();
    verb->add_option("-f,--file", args->file, "local file or directory");
    ignore_options(*verb, {"--max-connections"});
    ignore_flags(*verb, {"--no-progress", "--validate-content", "--overwrite"});

    verb = add_verb(parent, session, "list", "list the files of a container",
                    "batchai storage blob list -c images --prefix 2018/ -o table");
    args = add_blob(*verb, session, list);
    verb->add_option("--prefix", args->prefix, "only names that begin so");
    ignore_options(*verb, {"--num-results", "--marker", "--delimiter"});

    verb = add_verb(parent, session, "exists", "print whether a file exists",
                    "batchai storage blob exists -c images -n 2018/cat.jpg");
    args = add_blob(*verb, session, exists);
    verb->add_option("-n,--name", args->name, "its path in the container")
        ->check(kDirectory)
        ->required();

    verb = add_verb(parent, session, "delete", "delete a file of a container",
                    "batchai storage blob delete -c images -n 2018/cat.jpg");
    args = add_blob(*verb, session, remove);
    verb->add_option("-n,--name", args->name, "its path in the container")
        ->check(kDirectory)
        ->required();

    add_storage_batches(parent, session, job::Volume::Kind::blob_container);
}

}  // namespace batchai::cli
