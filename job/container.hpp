// SPDX-License-Identifier: Apache-2.0
//
// A job's container, run by the site's own runtime as the user: what stands before the job's
// commands. The helper asks this for preparation, batchai-launch for ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "job/policy.hpp"
#include "sys/result.hpp"

namespace batchai::job {

// What is to be found at the same place in the container.
struct ContainerPlaces {
    std::string mount_root;  // AZ_BATCHAI_JOB_MOUNT_ROOT
    std::string job_temp;    // AZ_BATCHAI_JOB_TEMP is below it
    std::string directory;   // where the command runs
    unsigned uid = 0;
    unsigned gid = 0;
    std::optional<std::uint64_t> shm_size = std::nullopt;  // JobSpec's
};

// The words before a command; none where the image is mapped to the host.
sys::Result<std::vector<std::string>> container_prefix(const SitePolicy&, const ImagePolicy&,
                                                       const ContainerPlaces&);

// Whether the image's runtime gives the job a /dev/shm of the size that it asks for.
bool has_shm_size(const SitePolicy&, const ImagePolicy&);

// A shell's command line that runs another one there, handed over in the environment and so in no
// process's arguments; an empty one stays empty.
std::string in_container(const std::vector<std::string>& prefix, const std::string& command);

// Whether a runtime can be executed on this machine, an image that is a path is there, and both.
sys::Result<void> check_program(const ProgramPolicy&);
sys::Result<void> check_image(const ImagePolicy&);
sys::Result<void> check_container(const SitePolicy&, const ImagePolicy&);

}  // namespace batchai::job
