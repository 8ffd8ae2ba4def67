// SPDX-License-Identifier: Apache-2.0
#include "slurm/submit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "slurm/command.hpp"
#include "sys/shell.hpp"
#include "sys/text.hpp"

namespace batchai::slurm {

std::vector<std::string> sbatch_arguments(const Submission& submission) {
    // --export=ALL overrides SBATCH_EXPORT=NONE of the user's environment. With NONE, Slurm does
    // not pass the plugin's options to the batch step.
    std::vector<std::string> arguments{"--parsable", fmt::format("--nodes={}", submission.nodes),
                                       "--export=ALL",
                                       "--open-mode=append",  // the job may be requeued
                                       "--job-name=" + submission.job_name};
    if (!submission.without_plugin) arguments.push_back("--batchai-job=" + submission.job_file);
    // The service ran one job per node. A site or user who shares nodes sets this option.
    const auto& given = submission.pass_through;
    if (submission.exclusive &&
        std::none_of(given.begin(), given.end(), [](const std::string& option) {
            return option == "--oversubscribe" || option == "-s";
        }))
        arguments.push_back("--exclusive");
    if (!submission.output.empty()) arguments.push_back("--output=" + submission.output);
    if (!submission.partition.empty()) arguments.push_back("--partition=" + submission.partition);
    if (!submission.gres.empty()) arguments.push_back("--gres=" + submission.gres);
    if (!submission.comment.empty()) arguments.push_back("--comment=" + submission.comment);
    arguments.insert(arguments.end(), submission.pass_through.begin(),
                     submission.pass_through.end());
    return arguments;
}

std::string batch_script(const Submission& submission) {
    std::string command = "exec " + sys::shell_quoted(submission.launcher);
    for (const std::string& argument : submission.launch_arguments)
        command += " " + sys::shell_quoted(argument);
    if (submission.without_plugin) command += " --without-plugin";
    return "#!/bin/bash\n" + command + " --job " +
           (submission.without_plugin ? sys::shell_quoted(submission.job_file)
                                      : "\"$BATCHAI_JOB_FILE\"") +
           "\n";
}

sys::Result<std::int64_t> submit(const Submission& submission) {
    // These variables of an array task would make the new job look like a task of that array.
    const auto text = ask(
        {"sbatch", sbatch_arguments(submission), {"SLURM_ARRAY_"}, {}, batch_script(submission)});
    if (!text) return text.error();
    // "123" or "123;cluster"
    const auto id = number<std::int64_t>(text->substr(0, text->find_first_of(";\n")));
    if (!id) return sys::Error{"sbatch: no job number in its answer: " + sys::first_line(*text)};
    return *id;
}

}  // namespace batchai::slurm
