// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/output/query.hpp"

#include "launcher/cli/output/json_text.hpp"
#include "launcher/cli/slurm/external.hpp"

namespace batchai::cli {
namespace {

constexpr const char* kEvaluator = "jp";

}  // namespace

bool query_available() {
    return on_path(kEvaluator);
}

sys::Result<nlohmann::json> run_query(const std::string& expression,
                                      const nlohmann::json& document) {
    auto done = run_program({kEvaluator, "--", expression}, json_text(document));
    if (!done) return done.error();
    if (done->status != 0) return sys::Error{first_line(done->err)};
    auto answer = nlohmann::json::parse(done->out, nullptr, false);
    if (answer.is_discarded()) return sys::Error{"jp answered with something that is no JSON"};
    return answer;
}

}  // namespace batchai::cli
