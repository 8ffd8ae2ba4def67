// SPDX-License-Identifier: Apache-2.0
//
// print: prints a JSON document of standard input as -o and --query ask for it. contrib/az uses it
// for the commands of az that batchai does not have.
#include <iostream>
#include <iterator>

#include "cli/command_options.hpp"
#include "cli/verbs.hpp"

namespace batchai::cli {
namespace {

int print(const Session& session) {
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    const auto document = nlohmann::json::parse(text, nullptr, false);
    if (document.is_discarded()) return fail(kBadInput, "standard input: is not JSON");
    return session.print(document);
}

}  // namespace

void add_print(CLI::App& parent, Session& session) {
    CLI::App* verb = add_verb(parent, session, "print", "print JSON by --output and --query",
                              "batchai print --query '[].name' -o tsv <jobs.json");
    verb->callback([&session] { session.action = [&session] { return print(session); }; });
}

}  // namespace batchai::cli
