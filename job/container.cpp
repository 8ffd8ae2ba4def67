// SPDX-License-Identifier: Apache-2.0
#include "job/container.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "job/expand.hpp"
#include "job/size.hpp"
#include "sys/shell.hpp"

namespace batchai::job {

namespace {

// The container of an image that has one. parse_policy ensures that it exists.
sys::Result<const ProgramPolicy*> runtime_of(const SitePolicy& policy, const ImagePolicy& image) {
    const auto found = policy.containers.find(image.run_on);
    if (found != policy.containers.end()) return &found->second;
    return sys::Error{"site policy: there is no [container." + image.run_on + "]"};
}

// The script of the container's shell. The command is not an argument, because every user of the
// node could see it. The runtime passes on the environment, as for ranks.
constexpr char kInContainer[] =
    "eval \"unset BATCHAI_PREPARATION; "
    "${BATCHAI_PREPARATION:?not passed on by the container runtime}\"";

// The command as one line of bash, because Enroot reads the environment line by line.
std::string one_line(const std::string& command) {
    if (command.find('\n') == command.npos) return command;
    std::string line = "eval $'";
    for (const char letter : command) {
        if (letter == '\\' || letter == '\'') line += '\\';
        line += letter == '\n' ? "\\n" : std::string(1, letter);
    }
    return line + "'";
}

constexpr std::string_view kEachName = "{env}";

bool names_variables(const std::string& word) {
    return word.find(kEachName) != word.npos;
}

// A shell script that runs the command, and repeats its words with {env} for each variable of the
// environment, with the variable's name. Only the process itself has its whole environment. So a
// shell starts in its place, makes the words and becomes the runtime.
sys::Result<std::string> naming_script(const std::vector<std::string>& command,
                                       const Placeholders& placeholders) {
    std::string script = "batchai_words=()";
    for (const std::string& word : command) {
        std::vector<std::string> parts;
        std::size_t begin = 0;
        for (std::size_t end = 0; end != word.npos; begin = end + kEachName.size()) {
            end = word.find(kEachName, begin);
            parts.push_back(word.substr(begin, end - begin));
        }
        // Replace part by part, so that no value is searched.
        const auto expanded = expand_placeholders(parts, placeholders);
        if (!expanded) return expanded.error();
        std::string quoted = sys::shell_quoted(expanded->front());
        for (std::size_t i = 1; i < expanded->size(); ++i)
            quoted += "\"$batchai_name\"" + sys::shell_quoted((*expanded)[i]);
        const std::string add = "batchai_words+=(" + quoted + ")";
        script += names_variables(word)
                      ? "; for batchai_name in $(compgen -e); do " + add + "; done"
                      : "; " + add;
    }
    return script + "; exec \"${batchai_words[@]}\" \"$@\"";
}

sys::Result<void> check_access(const std::string& path, int mode) {
    if (::access(path.c_str(), mode) == 0) return {};
    return sys::errno_error(path);
}

}  // namespace

sys::Result<std::vector<std::string>> container_prefix(const SitePolicy& policy,
                                                       const ImagePolicy& image,
                                                       const ContainerPlaces& places) {
    if (!image.in_container()) return std::vector<std::string>();
    const auto runtime = runtime_of(policy, image);
    if (!runtime) return runtime.error();
    const std::uint64_t shm_size =
        places.shm_size.value_or(parse_size((*runtime)->shm_size).value_or(0));
    const Placeholders placeholders = {{"{image}", image.image},
                                       {"{mount_root}", places.mount_root},
                                       {"{job_temp}", places.job_temp},
                                       {"{directory}", places.directory},
                                       {"{shm_size}", std::to_string(shm_size)},
                                       {"{uid}", std::to_string(places.uid)},
                                       {"{gid}", std::to_string(places.gid)}};
    const auto& command = (*runtime)->command;
    if (std::none_of(command.begin(), command.end(), names_variables))
        return expand_placeholders(command, placeholders);
    auto script = naming_script(command, placeholders);
    if (!script) return script.error();
    return std::vector<std::string>{"/bin/bash", "-c", *script, "bash"};
}

bool has_shm_size(const SitePolicy& policy, const ImagePolicy& image) {
    const auto runtime = runtime_of(policy, image);
    if (!image.in_container() || !runtime) return false;
    const auto& words = (*runtime)->command;
    return std::any_of(words.begin(), words.end(), [](const std::string& word) {
        return word.find("{shm_size}") != word.npos;
    });
}

std::string in_container(const std::vector<std::string>& prefix, const std::string& command) {
    if (prefix.empty() || command.empty()) return command;
    std::string line =
        "export BATCHAI_PREPARATION=" + sys::shell_quoted(one_line(command)) + "; exec";
    for (const std::string& word : prefix) line += " " + sys::shell_quoted(word);
    return line + " /bin/bash -c " + sys::shell_quoted(kInContainer);
}

sys::Result<void> check_program(const ProgramPolicy& program) {
    return check_access(program.command[0], X_OK);
}

sys::Result<void> check_image(const ImagePolicy& image) {
    return image.image.starts_with('/') ? check_access(image.image, F_OK) : sys::Result<void>();
}

sys::Result<void> check_container(const SitePolicy& policy, const ImagePolicy& image) {
    if (!image.in_container()) return {};
    const auto runtime = runtime_of(policy, image);
    if (!runtime) return runtime.error();
    if (auto there = check_program(**runtime); !there)
        return there.error().in("container " + image.run_on);
    if (auto there = check_image(image); !there) return there.error().in("image " + image.name);
    return {};
}

// All nodes run the same container command, which names the job's directory. Without the plugin's
// mounts, that directory has a different path on each node.
sys::Result<void> check_unmounted_container(const ImagePolicy& image, int nodes) {
    if (!image.in_container() || nodes == 1) return {};
    return sys::Error{
        "--without-plugin: an image in a container works on one node only, because each node has "
        "a directory of its own: set nodeCount to 1, or use a cluster with the plugin"};
}

}  // namespace batchai::job
