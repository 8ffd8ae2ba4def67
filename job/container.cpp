// SPDX-License-Identifier: Apache-2.0
#include "job/container.hpp"

#include <unistd.h>

#include <algorithm>

#include "job/placeholder.hpp"
#include "job/size.hpp"
#include "sys/shell.hpp"

namespace batchai::job {

namespace {

// The container of an image that has one. parse_policy lets no image name another.
sys::Result<const ProgramPolicy*> runtime_of(const SitePolicy& policy, const ImagePolicy& image) {
    const auto found = policy.containers.find(image.run_on);
    if (found != policy.containers.end()) return &found->second;
    return sys::Error{"site policy: there is no [container." + image.run_on + "]"};
}

// What the container's shell does: an argument that held the command would be seen by every user of
// the node. The runtime passes the environment on, as for ranks.
constexpr char kInContainer[] =
    "eval \"unset BATCHAI_PREPARATION; "
    "${BATCHAI_PREPARATION:?not passed on by the container runtime}\"";

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
    return expand_placeholders((*runtime)->command, {{"{image}", image.image},
                                                     {"{mount_root}", places.mount_root},
                                                     {"{job_temp}", places.job_temp},
                                                     {"{directory}", places.directory},
                                                     {"{shm_size}", std::to_string(shm_size)},
                                                     {"{uid}", std::to_string(places.uid)},
                                                     {"{gid}", std::to_string(places.gid)}});
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
    std::string line = "export BATCHAI_PREPARATION=" + sys::shell_quoted(command) + "; exec";
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

}  // namespace batchai::job
