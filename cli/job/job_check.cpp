// SPDX-License-Identifier: Apache-2.0
//
// job check: checks a job file without submitting it.
#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "cli/command_options.hpp"
#include "cli/job/job_input.hpp"
#include "cli/policy/policy_entries.hpp"
#include "cli/verbs.hpp"
#include "job/spec.hpp"

namespace batchai::cli {
namespace {

struct CheckArgs {
    std::string file;
    StorageAccount storage;
    bool json = false;
};

const char* severity_name(job::Finding::Severity severity) {
    switch (severity) {
        case job::Finding::Severity::note:
            return "note";
        case job::Finding::Severity::warning:
            return "warning";
        case job::Finding::Severity::error:
            break;
    }
    return "error";
}

nlohmann::json finding_json(const job::Finding& finding) {
    return {{"severity", severity_name(finding.severity)},
            {"file", finding.file},
            {"line", finding.line},
            {"column", finding.column},
            {"path", finding.path},
            {"message", finding.message}};
}

int run(const Session& session, const CheckArgs& args) {
    auto file = read_job_file(args.file);
    if (!file) return fail(kBadInput, file.error());
    const auto policy = load_site_policy();
    if (!policy) return fail(kEnvironment, policy.error());
    const auto parsed = check_file(*std::move(file), args.file, *policy, args.storage, {}, {});
    if (args.json) {
        auto findings = nlohmann::json::array();
        for (const auto& finding : parsed.findings) findings.push_back(finding_json(finding));
        if (const int code = session.print(findings); code != kOk) return code;
    } else {
        for (const auto& finding : parsed.findings) std::cerr << finding.text() << '\n';
        if (!parsed.spec) print_missing_entries(*policy, missing_entries(*policy, parsed));
    }
    return parsed.spec ? kOk : kBadInput;
}

}  // namespace

void add_job_check(CLI::App& parent, Session& session) {
    CLI::App* verb =
        add_verb(parent, session, "check", "check a job file: exit 0, or 2 with one line per error",
                 "batchai job check job.json");
    const auto args = std::make_shared<CheckArgs>();
    const CLI::Option* file = verb->add_option("FILE,-f,--config-file", args->file, "the job file");
    verb->add_flag("--json", args->json, "the findings as JSON on standard output");
    add_storage_options(*verb, args->storage);
    verb->callback([args, file, &session] {
        // ->required() would repeat in the help that FILE is required.
        if (file->empty()) throw CLI::RequiredError("FILE");
        session.action = [args, &session] { return run(session, *args); };
    });
}

}  // namespace batchai::cli
