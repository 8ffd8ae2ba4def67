// SPDX-License-Identifier: Apache-2.0
//
// The options for the kernel's NFS and CIFS clients: those that mount.nfs(8) and mount.cifs(8)
// would pass, without a program that would need the secret.
#pragma once

#include <string>
#include <vector>

#include "job/plan.hpp"
#include "job/policy.hpp"
#include "spank/helper/credentials.hpp"
#include "spank/helper/root/kernel_mount.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

// The lines of a credentials file, as mount.cifs(8) has them: username=, password=, domain=.
struct Login {
    std::string user;
    std::string password;
    std::string domain;
};
sys::Result<Login> parse_login(const std::string& text);

// The mount must be approved (allowlist.hpp). Both functions look up the server's name, so call
// them in a process that can be killed. NFS without a version is 4.2.
sys::Result<std::vector<Parameter>> nfs_parameters(const job::Nfs&, const job::FileSystem&);
sys::Result<std::vector<Parameter>> cifs_parameters(const job::Cifs&, const job::FileSystem&,
                                                    const Credentials& user, const Login*);

}  // namespace batchai::spank
