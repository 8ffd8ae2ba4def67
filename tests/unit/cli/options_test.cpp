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

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream words(line);
    return {std::istream_iterator<std::string>(words), {}};
}

// What the parser says to a command line: "" where it is understood.
std::string said_to(const std::string& line) {
    CLI::App command("", "batchai");
    Session session;
    build_command(command, session);
    try {
        parse(command, words_of(line));
        return session.action ? "" : "no action";
    } catch (const CLI::ParseError& error) {
        return error.get_exit_code() == 0 ? "help" : error.what();
    }
}

// What is neither in the walk-through nor in tests/cluster/az_forms.txt, which az_commands.bats
// runs.
const char* const kAlsoAccepted[] = {
    "cluster create -g g -w w -n c -s STANDARD_NC6 -t 4 -u me -k key.pub -p secret -i UbuntuDSVM "
    "--afs-name a --afs-mount-path b --storage-account-name s --storage-account-key k "
    "--min 0 --max 4 --partition gpu",
    "job create -g g -w w -e e -n j -c c -f job.json --storage-account-key k -A acct --qos high "
    "--reservation r --time 1:00 --partition p --dry-run",
    "job run --local -n j -f job.json",
    "job run --local 2 -n j -f job.json",
    "job run --local --name j --config-file job.json",
    "job check job.json --json",
    "job show -n 42",
    "job file list -j j -d stdouterr -p . --expiry 60",
    "job show -n j -o TABLE",
    "job show -n j --subscription s --debug --verbose --only-show-errors -o tsv",
    "job show -n i -n j -o json -o yaml",
    "job show --ids "
    "/subscriptions/s/resourceGroups/g/providers/p/workspaces/w/experiments/e/jobs/j",
    "job show --ids "
    "/subscriptions/s/resourceGroups/g/providers/p/workspaces/w/experiments/e/jobs/j/3",
    "job show --ids "
    "/subscriptions/s/resourceGroups/g/providers/p/workspaces/w/experiments/jobs/jobs/j",
    "cluster show --ids /subscriptions/s/resourceGroups/g/providers/p/workspaces/jobs/clusters/c",
    "job terminate -n j/3 -y",
    "job terminate -n 26_3 -y",
    "job file list -j j.json/12",
    "job list --since 7d --state failed --state queued,running --last 3",
    "job create -n j -f job.json -- --mem=4G --oversubscribe",
    "job node exec -j j -n node --exec hostname -L 1:a:2 -L 3:b:4",
    "cluster create -n c -f cluster.json --use-auto-storage --setup-task x --setup-task-output y",
    "job create -n j -c recipes/job.json",
    "storage container exists --name c",
    "job run --local -n j -f job.json --share a=b --share c=d --image e=host",
    "completion"};

const char* const kRefused[] = {"job",
                                "job create",
                                "job create -n j",
                                "job run -n j -f job.json",
                                "job create -n j -r cluster",
                                "job create -n j -c cluster",
                                "job create -n j -c cluster -c job.json",
                                "job create -n j -f job.json --nfs- x",
                                "cluster auto-scale -n c --min 1",
                                "job show",
                                "job show -n j --output xml",
                                "job create -n ../j -f job.json",
                                "job create -n a/b -f job.json",
                                "job create -n j -w .. -f job.json",
                                "group create --name ..",
                                "cluster create -n c --target -1",
                                "cluster create -n c --target many",
                                "job wait -n j --interval 0",
                                "job show -n j --nonsense",
                                "nonsense"};

// What is refused with a word on why.
struct Complaint {
    const char* line;
    const char* why;
};
std::ostream& operator<<(std::ostream& out, const Complaint& complaint) {
    return out << complaint.line;
}

const Complaint kComplaints[] = {
    {"job create -f x -n -x", "'-x' is not a name"},
    {"job create -f x --name=--wrap=id", "'--wrap=id' is not a name"},
    {"job show -n ../x", "'../x' is not a name"},
    {"job show -n j/x", "'j/x' is not a name of a task: NAME/INDEX"},
    {"job show -n j/1/2", "'j/1/2' is not a name of a task"},
    {"job show -n 26+1",
     "'26+1' is a component of a heterogeneous job: batchai knows the job as 26"},
    {"job list --since week", "'week' is not a time"},
    {"job list --state done", "'done' is not a state"},
    {"job list --last 0", "--last"},
    {"job wait -n x --interval inf", "must be a number from 0.2 to 86400, is 'inf'"},
    {"job wait -n x --interval nan", "must be a number from 0.2 to 86400, is 'nan'"},
    {"job wait -n x --interval -1", "must be a number from 0.2 to 86400, is '-1'"},
    {"job wait -n x --interval 1e300", "must be a number from 0.2 to 86400, is '1e300'"},
    {"cluster create -n x -t -1", "must be a number from 0 to 100000, is '-1'"},
    {"cluster resize -n x -t 99999999999", "must be a number from 0 to 100000"},
    {"cluster resize -n x -t nan", "must be a number from 0 to 100000"},
    {"cluster resize -n x -t 1.5", "--target"},
    {"job run -f x -n x --local 0", "--local"},
    {"job check", "FILE is required"},
    {"storage directory create -s x -n /", "'/' is not a name of a directory"},
    {"storage directory create -s x -n a/../b", "must stay below the share"},
    {"storage file list -s x -p ..", "must stay below the share"},
    {"storage file upload -s x --source y -p ../y", "must stay below the share"},
    {"storage file download -s x -p ../y", "must stay below the share"}};

struct Old {
    const char* line;
    const char* today;
};
std::ostream& operator<<(std::ostream& out, const Old& old) {
    return out << old.line;
}

const Old kOld[] = {
    {"job list-files -n j -d=stdouterr -g g", "job file list -n j -d stdouterr -g g"},
    {"job list-files --name j --output-directory-id stdouterr",
     "job file list --name j --output-directory-id stdouterr"},
    {"job stream-file -j j -n stdout.txt -d stdouterr",
     "job file stream -j j --file-name stdout.txt -d stdouterr"},
    {"job stream-file --job-name j --name=stderr.txt --output d",
     "job file stream --job j --file-name stderr.txt --output d"},
    {"job file stream -n j -f stdout.txt", "job file stream -n j -f stdout.txt"},
    {"job list-nodes -n j -o table", "job node list --job j -o table"},
    {"cluster list-nodes -n c", "cluster node list --cluster c"},
    {"cluster list-files -n c -e 60", "cluster file list -n c --expiry 60"},
    {"cluster file list -c c -e=60", "cluster file list -c c --expiry 60"},
    {"job file list -n j -g g -e 60", "job file list -n j -g g --expiry 60"},
    {"job file list -j j -w w -e 60", "job file list -j j -w w -e 60"},
    {"job file list -n j -e exp", "job file list -n j -e exp"},
    {"usage show -l eastus", "list-usages -l eastus"},
    {"cluster create -n c -c cluster.json --container-name b --container-mount-path=p",
     "cluster create -n c --config-file cluster.json --bfs-name b --bfs-mount-path p"},
    {"file-server create -n f --config nfs.json --admin-user-name me",
     "file-server create -n f --config-file nfs.json --user-name me"},
    {"job create -n j --config job.json --cluster-n c --no",
     "job create -n j --config-file job.json --cluster-name c --no"},
    {"job create -n j --config=job.json -r=c", "job create -n j --config-file job.json -r c"},
    {"cluster create -n c --passwor p --generate",
     "cluster create -n c --password p --generate-ssh-keys"},
    {"job file list --j j", "job file list --job j"},
    {"job show -n j -otsv", "job show -n j -o tsv"},
    {"job node exec -j j --exec --config -n n", "job node exec -j j --exec --config -n n"},
    {"job create -n j -f job.json -- --mem=1G -t=5",
     "job create -n j -f job.json -- --mem=1G -t=5"},
    {"job create -n -x --config y", "job create -n -x --config-file y"},
    {"job delete -n j --ye --no-w", "job delete -n j --yes --no-wait"},
    {"nonsense --config", "nonsense --config"}};

}  // namespace

BOOST_AUTO_TEST_SUITE(options)

BOOST_DATA_TEST_CASE(azs_options_are_understood, kAlsoAccepted) {
    BOOST_TEST(said_to(sample) == "");
}

BOOST_DATA_TEST_CASE(wrong_options_are_refused, kRefused) {
    BOOST_TEST(said_to(sample) != "");
    BOOST_TEST(said_to(sample) != "help");
}

BOOST_DATA_TEST_CASE(out_of_range_are_refused_with_the_range, kComplaints) {
    const std::string said = said_to(sample.line);
    BOOST_TEST(said.find(sample.why) != std::string::npos, said);
}

BOOST_DATA_TEST_CASE(earlier_and_shortened_spellings_are_todays, kOld) {
    CLI::App command("", "batchai");
    Session session;
    build_command(command, session);
    BOOST_TEST(todays_words(command, words_of(sample.line)) == words_of(sample.today),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(each_earlier_spelling_stands_for_one_of_today) {
    CLI::App command("", "batchai");
    Session session;
    build_command(command, session);
    for (const Spelling& spelling : earlier_spellings()) {
        auto words = words_of(spelling.earlier);
        if (spelling.today.starts_with("-")) {
            words.emplace_back("x");
            const auto today = todays_words(command, words);
            BOOST_TEST(today[today.size() - 2] == spelling.today);
            words = {today.begin(), today.end() - 2};
            const CLI::App* verb = &command;
            for (const auto& word : words) verb = verb->get_subcommand(word);
            BOOST_TEST((verb->get_option_no_throw(spelling.today) != nullptr), spelling.earlier);
        } else {
            BOOST_TEST(todays_words(command, words) == words_of(spelling.today),
                       boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(help_and_version_are_everywhere) {
    BOOST_TEST(said_to("--help") == "help");
    BOOST_TEST(said_to("--version") == "help");
    BOOST_TEST(said_to("job create --help") == "help");
}

namespace {
void check_help(const CLI::App& command) {
    std::istringstream lines(command.help());
    for (std::string line; std::getline(lines, line);)
        BOOST_TEST(line.size() <= 100, command.get_name() + ": " + line);
    for (const auto* below : command.get_subcommands({})) check_help(*below);
}
}  // namespace

BOOST_AUTO_TEST_CASE(no_line_of_any_help_is_wider_than_100_columns) {
    CLI::App command("", "batchai");
    Session session;
    build_command(command, session);
    check_help(command);
}

BOOST_AUTO_TEST_CASE(a_long_line_of_help_breaks_no_word) {
    BOOST_TEST(wrapped("  --option TEXT   what it does and why\n", 30) ==
               "  --option TEXT   what it does\n"
               "                  and why\n");
    BOOST_TEST(wrapped("Example:\n  batchai --averylongoption=value next\n", 20) ==
               "Example:\n"
               "  batchai\n"
               "  --averylongoption=value\n"
               "  next\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli
