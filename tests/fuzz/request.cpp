// SPDX-License-Identifier: Apache-2.0
//
// What root's helper reads from others: the plugin's request, and the plan that the user's half of
// the helper hands to root's.
#include "spank/helper/request.hpp"
#include "spank/helper/user/node_plan.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace batchai::spank;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    if (const auto request = parse_request(text)) {
        fuzz::must(!request->node.empty() && request->node.find('/') == request->node.npos,
                   "a node's name is a file's name", request->node);
        fuzz::must(request->name.find('/') == request->name.npos && request->name.front() != '.',
                   "a job's name is a directory's name", request->name);
        fuzz::must(!request->hosts.empty(), "a job has nodes", request->node);
    }
    if (const auto fields = Fields::parse(text))
        fuzz::must(fields->text() == text, "a list reads as it was written", text);
    if (const auto plan = node_plan_from_bytes(text)) {
        const auto again = node_plan_from_bytes(to_bytes(*plan));
        fuzz::must(again && *again == *plan, "a plan survives its bytes", text);
    }
    return 0;
}
