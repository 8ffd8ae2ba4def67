// SPDX-License-Identifier: Apache-2.0
//
// The part of check_job that looks at texts of a job file: scripts, command lines, values of
// variables. It finds variables that the job does not have, paths that lead to nothing, and
// commands that cannot run. A path that the job certainly needs is an error; a path in a command
// line, which may not need it, is a warning.
//
// Private to job/.
#pragma once

#include <string>
#include <vector>

#include "job/check.hpp"
#include "job/document.hpp"

namespace batchai::job {

// spec: of the document, without errors.
void check_texts(const Document&, const JobSpec& spec, const SitePolicy&, const CheckOptions&,
                 std::vector<Finding>&);

// A message if a text names a path of the service's own nodes. Empty: it names none, or the path is
// below the site's mount root, or the login node has such paths.
std::string no_service_path(const std::string& text, const SitePolicy&, const CheckOptions&);

}  // namespace batchai::job
