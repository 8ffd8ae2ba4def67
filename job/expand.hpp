// SPDX-License-Identifier: Apache-2.0
//
// $NAME and ${NAME} in paths and values of a job file. Only variables named AZ_BATCHAI_* are
// replaced: everything else is the shell's business ("$oauthtoken" must survive). An unknown
// AZ_BATCHAI_ variable becomes empty, as in the service.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace batchai::job {

using Environment = std::map<std::string, std::string>;

std::string expand(std::string_view text, const Environment& environment);

}  // namespace batchai::job
