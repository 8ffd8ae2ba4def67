// SPDX-License-Identifier: Apache-2.0
#include "cli/history/history.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "cli/job/jobs.hpp"
#include "tests/unit/temporary_directory.hpp"

namespace batchai::cli {
namespace {

using Kind = Resource::Kind;

JobRow row(const std::string& uuid, const std::string& name, std::int64_t slurm_id = 0) {
    JobRow row;
    row.identity.uuid = uuid;
    row.identity.name = name;
    row.number = job::Number::of_job(slurm_id);
    row.created = static_cast<double>(uuid[0]);
    return row;
}

struct Fixture {
    test::TemporaryDirectory directory;
    History history = open();

    History open() const {
        auto opened = History::open(directory.path());
        BOOST_REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : opened.error().message));
        return *std::move(opened);
    }
    bool add(const JobRow& job, bool duplicate = false) {
        const auto added = history.add_job(job, duplicate);
        BOOST_REQUIRE_MESSAGE(added.has_value(), (added ? "" : added.error().message));
        return *added;
    }
    std::vector<JobRow> jobs(const JobFilter& filter = {}) {
        auto found = history.jobs(filter);
        BOOST_REQUIRE_MESSAGE(found.has_value(), (found ? "" : found.error().message));
        return *std::move(found);
    }
    void put(Kind kind, const std::string& group, const std::string& workspace,
             const std::string& name) {
        BOOST_REQUIRE(history.put({kind, group, workspace, name, {{"a", 1}}}));
    }
    std::size_t count(Kind kind, const std::string& group = "", const std::string& workspace = "") {
        return history.list(kind, group, workspace).value().size();
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(history, Fixture)

BOOST_AUTO_TEST_CASE(keeps_resources_over_a_reopening) {
    put(Kind::workspace, "g", "", "w");
    history = open();
    const auto found = history.find(Kind::workspace, "g", "", "w");
    BOOST_REQUIRE(found && *found);
    BOOST_TEST((*found)->document.at("a") == 1);
    BOOST_TEST(!*history.find(Kind::workspace, "g", "", "other"));
    BOOST_TEST(!*history.find(Kind::group, "g", "", "w"));
}

BOOST_AUTO_TEST_CASE(a_group_takes_everything_in_it_along) {
    put(Kind::group, "g", "", "g");
    put(Kind::workspace, "g", "", "w");
    put(Kind::experiment, "g", "w", "e");
    put(Kind::cluster, "g", "w", "c");
    put(Kind::group, "h", "", "h");
    BOOST_TEST(*history.remove({Kind::group, "g", "", "g", {}}));
    BOOST_TEST(count(Kind::group) == 1);
    BOOST_TEST(count(Kind::workspace) + count(Kind::experiment) + count(Kind::cluster) == 0);
    BOOST_TEST(!*history.remove({Kind::group, "g", "", "g", {}}));
}

BOOST_AUTO_TEST_CASE(a_workspace_takes_only_its_own_along) {
    for (const char* workspace : {"w", "v"}) {
        put(Kind::workspace, "g", "", workspace);
        put(Kind::experiment, "g", workspace, "e");
    }
    BOOST_TEST(*history.remove({Kind::workspace, "g", "", "w", {}}));
    BOOST_TEST(count(Kind::workspace) == 1);
    BOOST_TEST(count(Kind::experiment, "g", "v") == 1);
    BOOST_TEST(count(Kind::experiment, "g", "w") == 0);
}

BOOST_AUTO_TEST_CASE(refuses_a_taken_job_name_unless_told) {
    BOOST_TEST(add(row("1", "train")));
    BOOST_TEST(!add(row("2", "train")));
    auto elsewhere = row("3", "train");
    elsewhere.identity.experiment = "other";
    BOOST_TEST(add(elsewhere));
    BOOST_TEST(add(row("4", "train"), true));
    BOOST_TEST(!add(row("4", "train"), true));  // the same record twice
    BOOST_TEST(jobs().size() == 3);
}

BOOST_AUTO_TEST_CASE(adopts_the_number_of_a_job_whose_submission_was_interrupted) {
    add(row("1", "train"));
    BOOST_TEST(history.uuids()->empty());
    BOOST_REQUIRE(history.adopt({row("1", "train", 12)}));
    BOOST_REQUIRE(history.adopt({row("1", "train", 13)}));  // a number stays
    BOOST_TEST(jobs().at(0).number.own() == 12);
    BOOST_TEST(history.uuids()->count("1") == 1);
}

BOOST_AUTO_TEST_CASE(finds_jobs_by_name_number_and_uuid) {
    add(row("1", "train", 12));
    add(row("2", "12", 13));
    BOOST_TEST(jobs({"", "", "", "train", ""}).at(0).identity.uuid == "1");
    BOOST_TEST(jobs({"", "", "", "", "12"}).at(0).identity.uuid == "1");
    BOOST_TEST(jobs({"", "", "", "", "2"}).at(0).number.own() == 13);
    BOOST_TEST(jobs({"nowhere", "", "", "", ""}).empty());
}

BOOST_AUTO_TEST_CASE(finds_tasks_by_their_numbers_and_all_of_an_array_by_its_own) {
    const auto add_task = [this](std::int64_t index, std::int64_t own) {
        JobRow task = row("u-" + std::to_string(index), "train");
        task.number = job::Number::of_task(26, index, own);
        add(task, true);
    };
    add_task(0, 27);
    add_task(1, 0);
    add_task(2, 26);
    add(row("w", "train", 28), true);
    const auto numbers = [this](const std::string& id) {
        std::string text;
        for (const JobRow& job : jobs({"", "", "", "", id})) text += job.number.text() + " ";
        return text;
    };
    BOOST_TEST(numbers("26") == "26_0 26_1 26_2 ");
    BOOST_TEST(numbers("u") == "26_0 26_1 26_2 ");
    BOOST_TEST(numbers("26_1") == "26_1 ");
    BOOST_TEST(numbers("27") == "26_0 ");
    BOOST_TEST(numbers("u-2") == "26_2 ");
    BOOST_TEST(numbers("28") == "28 ");
    BOOST_TEST(numbers("0") == "");
    JobRow started = jobs({"", "", "", "", "26_1"}).at(0);
    started.number = job::Number::of_task(26, 1, 29);
    BOOST_REQUIRE(history.set_numbers({&started}));
    BOOST_TEST(numbers("29") == "26_1 ");
    BOOST_REQUIRE(history.remove_job("u-1"));
    BOOST_TEST(numbers("26") == "26_0 26_2 ");
}

BOOST_AUTO_TEST_CASE(keeps_an_outcome_whole) {
    add(row("1", "train"));
    BOOST_TEST(!jobs().at(0).outcome);
    Execution execution;
    execution.state = Execution::State::failed;
    execution.end_time = 5.5;
    execution.exit_code = 3;
    execution.errors = {{"JobFailed", "why", "n1"}};
    JobRow over = row("1", "train");
    over.outcome = execution;
    over.kept = KeptJob{"horovod", 4, "{}"};
    BOOST_REQUIRE(history.keep({&over}));
    over.number = job::Number::of_job(44);
    BOOST_REQUIRE(history.set_numbers({&over}));
    BOOST_REQUIRE(history.set_terminating("1"));
    const JobRow job = jobs().at(0);
    BOOST_REQUIRE(job.outcome);
    BOOST_TEST(job.outcome->over());
    BOOST_TEST(!job.outcome->start_time);
    BOOST_TEST(*job.outcome->end_time == 5.5);
    BOOST_TEST(*job.outcome->exit_code == 3);
    BOOST_TEST(job.outcome->errors.at(0).node == "n1");
    BOOST_TEST(job.number.own() == 44);
    BOOST_TEST(job.terminating);
    BOOST_TEST(!job.deleting);
    JobFilter deleting;
    deleting.deleting = true;
    BOOST_TEST(history.jobs(deleting)->empty());
    BOOST_REQUIRE(history.set_deleting("1"));
    BOOST_REQUIRE(history.set_terminating("1"));  // it stays to be deleted
    BOOST_REQUIRE(history.jobs(deleting)->size() == 1U);
    BOOST_TEST(history.jobs(deleting)->front().terminating);
    BOOST_REQUIRE(job.kept);
    BOOST_TEST(job.kept->tool == "horovod");
    BOOST_TEST(job.kept->nodes == 4);
    BOOST_TEST(job.kept->document.empty());  // only on request
    BOOST_TEST(jobs({"", "", "", "train", "", true}).at(0).kept->document == "{}");
    BOOST_REQUIRE(history.remove_job("1"));
    BOOST_TEST(jobs().empty());
}

BOOST_AUTO_TEST_CASE(no_other_user_may_read_it) {
    const std::filesystem::path file = directory / "history.db";
    const auto own = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
    BOOST_CHECK(std::filesystem::status(file).permissions() == own);
    std::filesystem::permissions(file, std::filesystem::perms::all);  // as an older batchai made it
    history = open();
    BOOST_CHECK(std::filesystem::status(file).permissions() == own);
}

BOOST_AUTO_TEST_CASE(uses_no_write_ahead_log) {
    add(row("1", "train"));
    BOOST_TEST(!std::filesystem::exists(directory / "history.db-wal"));
}

// On NFS, another machine may remember that a journal is missing.
BOOST_AUTO_TEST_CASE(the_journal_stays) {
    add(row("1", "train"));
    BOOST_TEST(std::filesystem::exists(directory / "history.db-journal"));
}

BOOST_AUTO_TEST_CASE(a_history_of_a_newer_batchai_is_refused) {
    {
        auto database = Database::open(directory / "history.db", 1000);
        BOOST_REQUIRE(database && database->execute("PRAGMA user_version = 99"));
    }
    const auto opened = History::open(directory.path());
    BOOST_REQUIRE(!opened);
    BOOST_TEST(opened.error().message.find("newer batchai") != std::string::npos);
    BOOST_TEST(opened.error().message.find("use the newer one, or move the file away") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_history_with_a_negative_version_is_refused) {
    auto database = Database::open(directory / "history.db", 1000);
    BOOST_REQUIRE(database && database->execute("PRAGMA user_version = -1"));
    const auto opened = History::open(directory.path());
    BOOST_REQUIRE(!opened);
    BOOST_TEST(opened.error().message.starts_with((directory / "history.db") + ": written by"));
}

BOOST_AUTO_TEST_CASE(a_row_that_another_program_has_changed_is_taken_as_a_job_not_judged_yet) {
    JobRow ended = row("1", "train", 7);
    add(ended);
    ended.outcome = Execution{};
    ended.outcome->state = Execution::State::failed;
    ended.outcome->errors = {{"Code", "why", "n1"}};
    ended.kept = KeptJob{"horovod", 1, "{}"};
    auto database = Database::open(directory / "history.db", 1000);
    for (const char* change :
         {"errors = '[1]'", "errors = '[{\"code\": 1}]'", "errors = 'x'", "state = 'gone'"}) {
        BOOST_REQUIRE(history.keep({&ended}));
        BOOST_TEST(jobs().front().outcome.value().errors.front().node == "n1");
        BOOST_REQUIRE(database->execute(std::string("UPDATE job SET ") + change));
        BOOST_TEST(!jobs().front().outcome.has_value());
        BOOST_TEST(!jobs().front().kept.has_value());
    }
    BOOST_REQUIRE(history.keep({&ended}));
    BOOST_REQUIRE(database->execute("UPDATE job SET document = '{\"a'"));
    JobFilter with_documents;
    with_documents.documents = true;
    BOOST_TEST(jobs(with_documents).front().outcome.has_value());
    BOOST_TEST(!jobs(with_documents).front().kept.has_value());
}

BOOST_AUTO_TEST_CASE(a_history_of_the_first_version_is_upgraded_with_its_rows) {
    const std::string old = directory / "old";
    std::filesystem::create_directory(old);
    {
        auto database = Database::open(old + "/history.db", 1000);
        BOOST_REQUIRE(database);
        BOOST_REQUIRE(database->execute(R"(
            CREATE TABLE resource(
                kind TEXT NOT NULL, resource_group TEXT NOT NULL, workspace TEXT NOT NULL,
                name TEXT NOT NULL, document TEXT NOT NULL,
                PRIMARY KEY(kind, resource_group, workspace, name));
            CREATE TABLE job(
                uuid TEXT PRIMARY KEY,
                subscription TEXT NOT NULL, resource_group TEXT NOT NULL, workspace TEXT NOT NULL,
                experiment TEXT NOT NULL, name TEXT NOT NULL, cluster TEXT NOT NULL,
                slurm_id INTEGER NOT NULL, local INTEGER NOT NULL, created REAL NOT NULL,
                terminating INTEGER NOT NULL DEFAULT 0,
                state TEXT, start_time REAL, end_time REAL, exit_code INTEGER, errors TEXT);
            CREATE INDEX job_name ON job(resource_group, workspace, experiment, name);
            INSERT INTO resource VALUES('workspace', 'g', '', 'w', '{}');
            INSERT INTO job VALUES('u', 's', 'g', 'w', 'e', 'train', '', 12, 0, 1.5, 0,
                                   'failed', 2.5, 3.5, 7, '[]');
            PRAGMA user_version = 1;)"));
    }
    for (int opening = 0; opening < 2; ++opening) {
        auto opened = History::open(old);
        BOOST_REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : opened.error().message));
        BOOST_TEST(opened->list(Kind::workspace, "g", "").value().size() == 1);
        const auto found = opened->jobs({});
        BOOST_REQUIRE(found && found->size() == 1);
        BOOST_TEST(*found->at(0).outcome->exit_code == 7);
        BOOST_TEST(!found->at(0).kept);
    }
}

BOOST_AUTO_TEST_CASE(takes_writers_from_several_processes) {
    constexpr int kProcesses = 4;
    constexpr int kRows = 10;
    for (int p = 0; p < kProcesses; ++p) {
        if (::fork() != 0) continue;
        auto own = History::open(directory.path());
        bool good = own.has_value();
        for (int i = 0; good && i < kRows; ++i) {
            const std::string id = std::to_string(p) + "-" + std::to_string(i);
            good = own->add_job(row(id, id), false).has_value();
        }
        ::_exit(good ? 0 : 1);
    }
    int failures = 0;
    for (int p = 0; p < kProcesses; ++p) {
        int status = 0;
        ::wait(&status);
        failures += status != 0 ? 1 : 0;
    }
    BOOST_TEST(failures == 0);
    BOOST_TEST(jobs().size() == kProcesses * kRows);
}

// A note may come before it.
BOOST_AUTO_TEST_CASE(a_record_that_cannot_be_read_names_the_error) {
    Store store{directory.path(), std::move(history)};
    JobRow job = row("u", "a");
    std::filesystem::create_directories(store.record("u"));
    std::ofstream(store.snapshot("u")) << R"({"location": "x", "properties": {"nodeCount": 0}})";
    const auto spec = read_spec(store, job);
    BOOST_REQUIRE(!spec);
    BOOST_TEST(spec.error().message.find("note: ") == std::string::npos, spec.error().message);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli
