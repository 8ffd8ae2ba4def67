// SPDX-License-Identifier: Apache-2.0
//
// A job's container, which the site's own runtime runs as the user: the words before the job's
// commands. The helper uses them for the preparation, batchai-launch for ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "job/policy.hpp"
#include "sys/result.hpp"

namespace batchai::job {

// The directories that must have the same path in the container.
struct ContainerPlaces {
    std::string mount_root;  // AZ_BATCHAI_JOB_MOUNT_ROOT
    std::string job_temp;    // AZ_BATCHAI_JOB_TEMP is below it
    std::string directory;   // where the command runs
    unsigned uid = 0;
    unsigned gid = 0;
    std::optional<std::uint64_t> shm_size = std::nullopt;  // JobSpec's
};

// The words before a command. Empty if the image is mapped to the host.
sys::Result<std::vector<std::string>> container_prefix(const SitePolicy&, const ImagePolicy&,
                                                       const ContainerPlaces&);

// True if the image's runtime gives the job a /dev/shm of the size that it asks for.
bool has_shm_size(const SitePolicy&, const ImagePolicy&);

// A shell's command line that runs another command line. The other one is passed in the
// environment, so that it is in no process's arguments. An empty command line stays empty.
std::string in_container(const std::vector<std::string>& prefix, const std::string& command);

// An error if the runtime cannot be executed on this machine; if an image that is a path does not
// exist; if either is so.
sys::Result<void> check_program(const ProgramPolicy&);
sys::Result<void> check_image(const ImagePolicy&);
sys::Result<void> check_container(const SitePolicy&, const ImagePolicy&);
// An error if a job without the plugin would have the image in containers on several nodes.
sys::Result<void> check_unmounted_container(const ImagePolicy&, int nodes);

}  // namespace batchai::job
