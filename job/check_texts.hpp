// SPDX-License-Identifier: Apache-2.0
//
// The part of check_job that looks at texts of a job file: scripts, command lines, values of
// variables. It finds variables that the job does not have, paths that lead to nothing, and
// commands that cannot run. A path that the job certainly needs is an error; a path in a command
// line, which may not need it, is a warning.
//
// Private to job/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/check.hpp"
#include "job/document.hpp"
#include "job/spec.hpp"

namespace batchai::job {

// spec: of the document, without errors.
void check_texts(const Document&, const JobSpec& spec, const SitePolicy&, const CheckOptions&,
                 std::vector<Finding>&);

// A message if a text names a path of the service's own nodes. Empty: it names none, or the path is
// below the site's mount root, or the login node has such paths.
std::string no_service_path(const std::string& text, const SitePolicy&, const CheckOptions&);

// What a text of a job file names, for the check before submission: programs, paths below the mount
// root, paths of the service's own nodes. The text is not expanded, and no file is read. All this
// is in command_text.cpp.

// True if shell text is one word in which only $NAME and ${NAME} have a meaning for the shell.
bool is_plain_path(std::string_view text);

// The directory that contains all paths of the service's own nodes.
inline constexpr std::string_view kServiceNodes = "/mnt/batch/tasks";
// A path of the service's own nodes.
struct ServicePath {
    std::string path;  // "/mnt/batch/tasks/shared/LS_root/mounts/external/a.py"
    std::string here;  // "$AZ_BATCHAI_MOUNT_ROOT/external/a.py"; empty: there is no such place
};
// The first one in a text.
std::optional<ServicePath> service_path(const std::string& text);

// The paths below the mount root that a text names and that no volume covers, each once and as the
// text has it. A path that only the shell can resolve ('..', a variable, a glob) counts up to
// there.
std::vector<std::string> paths_on_no_volume(const std::string& text,
                                            const std::vector<Volume>& volumes);

// Whether a text has the name of a variable without a dollar, as what sets it has: NAME=VALUE, read
// NAME, for NAME in.
bool may_set_variable(std::string_view text, std::string_view name);

struct ShellText {
    // The first program, without its directories: "mpirun" in "cd /x && A=1 /usr/bin/mpirun a.out".
    // Commands that only prepare the shell, such as cd, source and export, do not count.
    std::string program;
    bool has_open_quote = false;  // false too if only a shell can tell
};
ShellText read_shell_text(std::string_view text);

// mpirun, srun and other programs that start processes on all nodes of a job.
bool starts_ranks(std::string_view program);

}  // namespace batchai::job
