// SPDX-License-Identifier: Apache-2.0
//
// Expands $NAME and ${NAME} in paths and values of a job file. Only variables named AZ_BATCHAI_*
// are replaced. All other text is left for the shell ("$oauthtoken" must survive). An unknown
// AZ_BATCHAI_ variable becomes empty, as in the service.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace batchai::job {

using Environment = std::map<std::string, std::string>;

// Called with the name of each variable that becomes empty because the job does not have it.
using OnUnknown = std::function<void(const std::string& name)>;
std::string expand(std::string_view text, const Environment& environment,
                   const OnUnknown& on_unknown = {});

}  // namespace batchai::job
