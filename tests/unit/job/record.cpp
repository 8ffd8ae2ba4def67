// SPDX-License-Identifier: Apache-2.0
#include "job/record.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "job/check.hpp"
#include "job/snapshot.hpp"
#include "samples.hpp"
#include "tests/unit/printing.hpp"
#include "tests/unit/sys/as_root.hpp"
#include "tests/unit/temporary_directory.hpp"

using namespace batchai::job;
using batchai::test::TemporaryDirectory;
using boost::unit_test::precondition;

BOOST_AUTO_TEST_CASE(keeps_events_of_all_nodes_by_time) {
    const TemporaryDirectory directory;
    BOOST_TEST(append_event(directory.path(), {Event::Kind::failed, 2, "n2", "Code", "b\xff\n"})
                   .has_value());
    BOOST_TEST(
        append_event(directory.path(), {Event::Kind::preparing, 1, "n1", "", ""}).has_value());
    std::ofstream(directory.path() + "/events-n3.jsonl") << "{\"kind\": \"star";
    const auto events = read_events(directory.path());
    BOOST_REQUIRE(events.size() == 2u);
    BOOST_TEST(events[0].node == "n1");
    BOOST_TEST(events[1].kind == Event::Kind::failed);
    BOOST_TEST(events[1].code == "Code");
}

BOOST_AUTO_TEST_CASE(keeps_the_result) {
    const TemporaryDirectory directory;
    BOOST_TEST(!read_result(directory.path()).has_value());
    BOOST_TEST(write_result(directory.path(), {1.5, 2.5, 3, "why"}).has_value());
    BOOST_TEST(read_result(directory.path())->exit_code == 3);
    BOOST_TEST(read_result(directory.path())->failure == "why");
    BOOST_TEST(
        write_result(directory.path(), {1, 2, 3, "why", "n1", "", "stderr-wk-1.txt"}).has_value());
    BOOST_TEST(read_result(directory.path())->error_file == "stderr-wk-1.txt");
}

BOOST_AUTO_TEST_CASE(a_log_is_not_written_through_another_users_link, *precondition(as_root)) {
    const TemporaryDirectory directory;
    namespace fs = std::filesystem;
    const std::string share = directory.path() + "/share", own = directory.path() + "/private";
    const std::string log = "/stdouterr/execution.log";
    for (const char* place : {"/uuid", "/uuid/stdouterr"}) {
        const std::string job = share + "/uuid";
        fs::create_directories(fs::path(share + place).parent_path());
        fs::create_directories(own + "/stdouterr");
        fs::create_symlink(place == std::string("/uuid") ? own : own + "/stdouterr", share + place);
        BOOST_TEST(append_execution_log(job + log, "by its own link").has_value());
        BOOST_REQUIRE(::lchown((share + place).c_str(), 12345, 12345) == 0);
        const auto done = append_execution_log(job + log, "text");
        BOOST_TEST(!done.has_value());
        BOOST_TEST(samples::contains(done.error().message, "it is a symbolic link of user 12345"));
        leave_outputs(job + "/stdouterr", "text");
        BOOST_TEST(!fs::exists(own + "/stdouterr/stderr.txt"));
        BOOST_TEST(!open_log(job + log, O_RDONLY).has_value());
        fs::remove_all(share);
        fs::remove_all(own);
    }
    fs::create_directories(share + "/uuid/stdouterr");
    BOOST_TEST(append_execution_log(share + "/uuid" + log, "text").has_value());
}

batchai::sys::Result<std::string> snapshot_of(const std::string& text, const std::string& file,
                                              const Identity& identity, const std::string& account,
                                              const std::string& key = {}) {
    return write_snapshot(parse_job(text, file), file, identity, account, key);
}

BOOST_AUTO_TEST_CASE(writes_a_snapshot_that_is_the_users_alone) {
    const TemporaryDirectory directory;
    ::setenv("XDG_DATA_HOME", directory.path().c_str(), 1);
    Identity identity;
    identity.name = "cifar";
    const auto path = snapshot_of(samples::tutorial(), "job.json", identity, "account");
    BOOST_REQUIRE(path.has_value());
    struct stat status {};
    BOOST_REQUIRE(::stat(path->c_str(), &status) == 0);
    BOOST_TEST((status.st_mode & 0777) == 0600u);
    const std::string text = samples::text_of(*path);
    const JobSpec spec = parse_job(text, *path).spec.value();
    BOOST_TEST(spec.identity.value().name == "cifar");
    BOOST_TEST(spec.identity->uuid.size() == 36u);
    BOOST_TEST(spec.volumes[0].account == "account");
    // A snapshot is used as it is; a copy of one elsewhere becomes a new job.
    BOOST_TEST(*snapshot_of(text, *path, identity, "") == *path);
    const auto copy = snapshot_of(text, "elsewhere.json", *spec.identity, "");
    BOOST_TEST(*copy != *path);
    BOOST_TEST(samples::text_of(*path) == text);
    ::unsetenv("XDG_DATA_HOME");
}

BOOST_AUTO_TEST_CASE(a_snapshot_that_cannot_be_written_leaves_no_record) {
    const TemporaryDirectory directory;
    ::setenv("XDG_DATA_HOME", directory.path().c_str(), 1);
    rlimit before{};
    BOOST_REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const rlimit none{0, before.rlim_max};
    const auto handler = ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &none);  // as on a full disk
    const auto path = snapshot_of(samples::tutorial(), "job.json", {}, "");
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, handler);
    BOOST_TEST(!path.has_value());
    BOOST_TEST(std::filesystem::is_empty(directory.path() + "/batchai/jobs"));
    ::unsetenv("XDG_DATA_HOME");
}

BOOST_AUTO_TEST_CASE(a_data_directory_with_a_line_end_is_refused) {
    ::setenv("XDG_DATA_HOME", "/tmp/x\ny", 1);
    BOOST_TEST(data_directory().error().message == "XDG_DATA_HOME: has a line end in it");
    BOOST_TEST(!snapshot_of(samples::tutorial(), "job.json", {}, "").has_value());
    ::unsetenv("XDG_DATA_HOME");
}

BOOST_AUTO_TEST_CASE(each_task_of_a_job_array_has_a_snapshot_of_its_own) {
    const TemporaryDirectory home;
    ::setenv("XDG_DATA_HOME", home.path().c_str(), 1);
    Identity identity;
    identity.uuid = "1234";
    const auto array = snapshot_of(samples::tutorial(), "job.json", identity, "");
    BOOST_REQUIRE(array.has_value());
    const auto task = write_task_snapshot(*array, 7);
    BOOST_REQUIRE(task.has_value());
    BOOST_TEST(*task == home.path() + "/batchai/jobs/1234-7/job.json");
    BOOST_TEST(parse_job(samples::text_of(*task), *task).spec->identity->uuid == "1234-7");
    BOOST_TEST(*write_task_snapshot(*array, 7) == *task);
    BOOST_TEST(!write_task_snapshot("/nowhere/job.json", 7).has_value());
    ::unsetenv("XDG_DATA_HOME");
}

BOOST_AUTO_TEST_CASE(a_storage_key_replaces_its_placeholder_and_no_key_of_the_file) {
    const TemporaryDirectory directory;
    ::setenv("XDG_DATA_HOME", directory.path().c_str(), 1);
    const auto path = snapshot_of(
        R"({"properties": {"nodeCount": 1, "stdOutErrPathPrefix": "/o",
            "customToolkitSettings": {"commandLine": "true"}, "mountVolumes": {"azureFileShares": [
            {"azureFileUrl": "https://a.file.core.windows.net/x", "relativeMountPath": "none"},
            {"azureFileUrl": "https://a.file.core.windows.net/x", "relativeMountPath": "placeholder",
             "credentials": {"accountKey": "<AZURE_BATCHAI_STORAGE_KEY>"}},
            {"azureFileUrl": "https://a.file.core.windows.net/x", "relativeMountPath": "own",
             "credentials": {"accountKey": "own"}}]}}})",
        "job.json", {}, "", "the key");
    BOOST_REQUIRE(path);
    const auto parsed = parse_job(samples::text_of(*path), *path);
    const std::vector<std::string> keys = {"the key", "the key", "own"};
    for (std::size_t i = 0; i < keys.size(); ++i)
        BOOST_TEST(parsed.spec.value().volumes.at(i).account_key == keys[i]);
}

BOOST_AUTO_TEST_CASE(a_storage_key_does_not_go_to_another_account) {
    const TemporaryDirectory directory;
    ::setenv("XDG_DATA_HOME", directory.path().c_str(), 1);
    const std::string text =
        R"({"properties": {"nodeCount": 1, "stdOutErrPathPrefix": "/o",
            "customToolkitSettings": {"commandLine": "true"}, "mountVolumes": {"azureFileShares": [
            {"azureFileUrl": "https://a.file.core.windows.net/x", "relativeMountPath": "mine"},
            {"azureFileUrl": "https://b.file.core.windows.net/x", "relativeMountPath": "other"},
            {"azureFileUrl": "https://b.file.core.windows.net/x", "relativeMountPath": "asks",
             "credentials": {"accountKey": "<AZURE_BATCHAI_STORAGE_KEY>"}}]}}})";
    // If no account is named, only the placeholder says which volume gets the key.
    for (const auto& [account, first] : {std::pair{"a", "the key"}, {"", ""}}) {
        const auto path = snapshot_of(text, "job.json", {}, account, "the key");
        BOOST_REQUIRE(path);
        const auto parsed = parse_job(samples::text_of(*path), *path);
        const std::vector<std::string> keys = {first, "", "the key"};
        for (std::size_t i = 0; i < keys.size(); ++i)
            BOOST_TEST(parsed.spec.value().volumes.at(i).account_key == keys[i]);
    }
}

BOOST_AUTO_TEST_CASE(a_note_is_left_for_the_first_submission_only) {
    const TemporaryDirectory home;
    ::setenv("XDG_DATA_HOME", home.path().c_str(), 1);
    const auto left = [](std::vector<Finding> findings) {
        leave_out_known_notes(findings);
        std::string text;
        for (const Finding& finding : findings) text += finding.message + " ";
        return text;
    };
    using Severity = Finding::Severity;
    const Finding type{Severity::note, "a.json", 1, 1, "properties.x.type", "ignored"};
    const Finding image{Severity::note, "a.json", 2, 1, "properties.image", "host"};
    const Finding typo{Severity::warning, "a.json", 3, 1, "properties.y", "unknown"};
    BOOST_TEST(left({type, typo}) == "ignored unknown ");
    BOOST_TEST(left({type, image, typo}) == "host unknown ");
    Finding elsewhere = type;  // another file of a sweep
    elsewhere.file = "b.json";
    elsewhere.line = 9;
    BOOST_TEST(left({elsewhere, image, typo}) == "unknown ");
    elsewhere.message = "ignored for another reason";
    BOOST_TEST(left({elsewhere}) == "ignored for another reason ");
    // Nothing is lost where nothing can be remembered.
    const std::string notes = home.path() + "/batchai/notes";
    std::filesystem::remove(notes);
    std::filesystem::create_directory(notes);
    BOOST_TEST(left({type}) == "ignored ");
    BOOST_TEST(left({type}) == "ignored ");
    ::unsetenv("XDG_DATA_HOME");
}

BOOST_AUTO_TEST_CASE(a_record_keeps_the_first_number_that_is_written) {
    const TemporaryDirectory directory;
    BOOST_TEST(!read_number(directory.path()));
    BOOST_TEST(write_number(directory.path(), Number::of_task(26, 3, 28)).has_value());
    BOOST_TEST(write_number(directory.path(), Number::of_job(29)).has_value());
    BOOST_TEST((read_number(directory.path()) == Number::of_task(26, 3, 28)));
    // As releases before this one wrote it.
    std::ofstream(directory.path() + "/slurm_job_id") << "30\n";
    BOOST_TEST((read_number(directory.path()) == Number::of_job(30)));
    std::ofstream(directory.path() + "/slurm_job_id") << "x\n";
    BOOST_TEST(!read_number(directory.path()));
}

BOOST_AUTO_TEST_CASE(a_comment_names_the_record_of_its_job) {
    Identity identity;
    identity.name = "train";
    BOOST_TEST(comment_of(identity) == "batchai:default/default/default/train");
    BOOST_TEST(uuid_of_comment(comment_of(identity)) == "");
    identity.uuid = "0f3a";
    BOOST_TEST(uuid_of_comment(comment_of(identity)) == "0f3a");
    for (const char* own : {"", "mine", "batchai:", "a/b/c/d/e", "batchai:a/b/c/d/e/f"})
        BOOST_TEST(uuid_of_comment(own) == "", own);
}
