// SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <utility>

#include "cli/output/result_text.hpp"
#include "sys/paths.hpp"
#include "sys/subprocess.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

// No module comes from the current directory. With -E, none comes from PYTHONPATH, which may name
// it.
constexpr int kWrongExpression = 4;
constexpr char kEvaluator[] = R"(import sys
if sys.path[0] == "": del sys.path[0]
import json, jmespath
document = json.loads(sys.stdin.buffer.read().decode("utf-8"))
try: print(json.dumps(jmespath.search(sys.argv[1], document)))
except Exception as error:
    sys.stderr.write("%s" % error)
    sys.exit(4))";

const std::string kSystemPython = "/usr/bin/python3";

// "Invalid jmespath expression: why" becomes "why".
std::string query_error(const std::string& text) {
    constexpr std::string_view kPrefix = "jmespath expression: ";
    const std::string line = sys::first_line(text);
    const auto prefix = line.find(kPrefix);
    return prefix == std::string::npos ? line : line.substr(prefix + kPrefix.size());
}

}  // namespace

sys::Result<std::optional<nlohmann::ordered_json>> run_query(const std::string& expression,
                                                             const nlohmann::json& document) {
    for (const std::string& python : {sys::program_on_path("python3"), kSystemPython}) {
        if (::access(python.c_str(), X_OK) != 0) continue;
        const auto done =
            sys::run({{python, "-E", "-c", kEvaluator, expression}}, json_text(document));
        if (!done) return done.error();
        if (done->status == kWrongExpression)
            return sys::Error{"not a JMESPath expression for this result: " +
                              query_error(done->err)};
        if (done->status != 0) continue;  // without the module, or broken
        auto answer = nlohmann::ordered_json::parse(done->out, nullptr, false);
        if (answer.is_discarded()) return sys::Error{python + " did not return JSON"};
        return std::make_optional(std::move(answer));
    }
    return std::optional<nlohmann::ordered_json>();
}

}  // namespace batchai::cli
