// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/output/query.hpp"

#include <array>

#include "launcher/cli/output/json_text.hpp"
#include "launcher/cli/slurm/external.hpp"
#include "launcher/common/slurm_command.hpp"

namespace batchai::cli {
namespace {

// Both print the result as JSON, and errors on stderr.
constexpr std::array<const char*, 2> kEvaluators{"jp", "jp.py"};

const char* evaluator() {
    for (const char* program : kEvaluators)
        if (!launcher::program_on_path(program).empty()) return program;
    return nullptr;
}

// "SyntaxError: why" and "syntax-error: why" become "why".
std::string query_error(const std::string& text) {
    const std::string line = first_line(text);
    const auto colon = line.find(": ");
    return colon == std::string::npos ? line : line.substr(colon + 2);
}

}  // namespace

bool query_available() {
    return evaluator() != nullptr;
}

sys::Result<nlohmann::json> run_query(const std::string& expression,
                                      const nlohmann::json& document) {
    const std::string program = evaluator();
    auto done = run_program({program, "--", expression}, json_text(document));
    if (!done) return done.error();
    if (done->status != 0)
        return sys::Error{"not a JMESPath expression for this result: " + query_error(done->err)};
    auto answer = nlohmann::json::parse(done->out, nullptr, false);
    if (answer.is_discarded()) return sys::Error{program + " did not return JSON"};
    return answer;
}

}  // namespace batchai::cli
