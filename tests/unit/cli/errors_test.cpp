// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <iterator>
#include <sstream>

#include "cli/command.hpp"
#include "cli/verbs.hpp"

namespace batchai::cli {
namespace {

std::string said_of(const std::string& line) {
    CLI::App command("", "batchai");
    Session session;
    build_command(command, session);
    try {
        std::istringstream words(line);
        parse(command, {std::istream_iterator<std::string>(words), {}});
        return "";
    } catch (const CLI::ParseError& error) {
        return explain(command, error);
    }
}

struct Typo {
    const char* line;
    const char* said;
};
std::ostream& operator<<(std::ostream& out, const Typo& typo) {
    return out << typo.line;
}

const Typo kTypos[] = {
    {"jub", "jub: no such command of 'batchai'; did you mean 'job'?"},
    {"job craete -n x", "craete: no such command of 'batchai job'; did you mean 'create'?"},
    {"job term -n x", "term: no such command of 'batchai job'; did you mean 'terminate'?"},
    {"job show --nmae x", "--nmae: unknown option of 'batchai job show'; did you mean '--name'?"},
    {"job create -n j --nfs- x",
     "--nfs-: ambiguous in 'batchai job create': expected one of '--nfs-mount-path', '--nfs-name', "
     "'--nfs-resource-group'"},
    {"job create -n x --config-flie y",
     "--config-flie: unknown option of 'batchai job create'; did you mean '--config-file'?"},
    {"job create --nodes 4", "--nodes: unknown option of 'batchai job create' (see"},
    {"job create --nodes=4", "--nodes: unknown option of 'batchai job create' (see"},
    {"job show -n x y", "y: 'batchai job show' expects no such word"},
    {"xyzzy", "xyzzy: no such command of 'batchai' (see 'batchai --help')"},
    {"job", "batchai job: expected one of check, create, "},
    {"job show", "--name"},
    {"job create -n rate-0.1 -f x -- --time=5", "--name: 'rate-0.1' is not a name"},
    {"job create -f x -- --time=5", "--name is required"}};

}  // namespace

BOOST_AUTO_TEST_SUITE(errors)

BOOST_DATA_TEST_CASE(name_the_unknown_word_first, kTypos) {
    const std::string said = said_of(sample.line);
    BOOST_TEST(said.find(sample.said) != std::string::npos, said);
    BOOST_TEST(said.find('\n') == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli
