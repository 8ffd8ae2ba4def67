// SPDX-License-Identifier: Apache-2.0
//
// policy suggest: prints the site policy that a job file needs. The admin edits and installs it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <memory>

#include "cli/command_options.hpp"
#include "cli/policy/policy_entries.hpp"
#include "cli/verbs.hpp"
#include "sys/file.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

struct SuggestArgs {
    std::string file;
    std::vector<std::string> shares;
    std::vector<std::string> images;
};

int suggest(const SuggestArgs& args) {
    const auto assignments = read_assignments(args.shares, args.images);
    if (!assignments) return fail(kBadInput, assignments.error());
    const auto text = sys::read_file(args.file, job::kMaxJobBytes);
    if (!text) return fail(kBadInput, text.error());
    const auto parsed = job::parse_job(*text, args.file);
    if (!parsed.spec) {
        for (const auto& finding : parsed.findings) std::cerr << finding.text() << '\n';
        return kBadInput;
    }
    auto entries = missing_entries(job::SitePolicy(), *parsed.spec, *assignments);
    if (!parsed.spec->cluster.empty()) entries.push_back(cluster_entry(parsed.spec->cluster));
    fmt::print("{}", sys::printable_lines(fmt::format("{}", fmt::join(entries, "\n"))));
    return kOk;
}

}  // namespace

void add_policy(CLI::App& parent, Session& session) {
    CLI::App* verb = add_verb(parent, session, "suggest", "write the policy entries of a job file",
                              "batchai policy suggest job.json --share myshare=/data/myshare");
    const auto args = std::make_shared<SuggestArgs>();
    const CLI::Option* file = verb->add_option("FILE,-f,--config-file", args->file, "the job file");
    add_assignment_options(*verb, args->shares, args->images);
    verb->callback([args, file, &session] {
        if (file->empty()) throw CLI::RequiredError("FILE");
        session.action = [args] { return suggest(*args); };
    });
}

}  // namespace batchai::cli
