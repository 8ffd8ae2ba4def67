// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"

#include <CLI/CLI.hpp>

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <sstream>

#include "cli/verbs.hpp"
#include "sys/subprocess.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

const std::string kFile = BATCHAI_SOURCE_DIR "/etc/completion/batchai.bash";

std::string made() {
    CLI::App command("", "batchai");
    Session session;
    build_command(command, session);
    return bash_completion(command);
}

// What bash offers after the words; the last one is being typed. before: commands of bash's.
std::string offered(const std::string& words, const std::string& before = "") {
    const auto done =
        sys::run({{"bash", "-c",
                   before + "source " + kFile + "; COMP_WORDS=(" + words +
                       "); [ \"$0\" = new ] && COMP_WORDS+=(''); "
                       "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _batchai; echo \"${COMPREPLY[*]}\"",
                   words.ends_with(' ') ? "new" : "typed"}});
    return done ? sys::first_line(done->out) : done.error().message;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(completion)

BOOST_AUTO_TEST_CASE(the_script_in_etc_is_that_of_this_command) {
    std::ostringstream text;
    text << std::ifstream(kFile).rdbuf();
    BOOST_TEST((text.str() == made()),
               "etc/completion/batchai.bash is old: batchai completion > it");
}

BOOST_AUTO_TEST_CASE(offers_verbs_options_and_values) {
    BOOST_TEST(offered("batchai jo") == "job");
    BOOST_TEST(offered("batchai job che") == "check");
    BOOST_TEST(offered("batchai job file ") != "");
    BOOST_TEST(offered("batchai job file st") == "stream");
    BOOST_TEST(offered("batchai job create --dry") == "--dry-run");
    BOOST_TEST(offered("batchai job show --name x --que") == "--query");
    BOOST_TEST(offered("batchai job show -o t") == "table tsv");
    BOOST_TEST(offered("batchai job show -o ta") == "table");
}

BOOST_AUTO_TEST_CASE(offers_names_of_jobs_where_a_job_is_wanted) {
    const std::string jobs =
        "batchai() { [ \"$1 $2\" = 'job list' ] && printf 'first\\nsecond\\n'; }; ";
    BOOST_TEST(offered("batchai job show -n ", jobs) == "first second");
    BOOST_TEST(offered("batchai job file list --job s", jobs) == "second");
    BOOST_TEST(offered("batchai job create -n ", jobs).find("first") == std::string::npos);
    BOOST_TEST(offered("batchai cluster show -n ", jobs).find("first") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli
