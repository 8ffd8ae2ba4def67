// SPDX-License-Identifier: Apache-2.0
#include "cli/history/history.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "cli/output/result_text.hpp"

namespace batchai::cli {
namespace {

constexpr int kBusyMilliseconds = 10'000;

// Each entry upgrades the schema by one version. An entry never changes.
constexpr std::array<const char*, 3> kMigrations{R"(
CREATE TABLE resource(
    kind TEXT NOT NULL, resource_group TEXT NOT NULL, workspace TEXT NOT NULL, name TEXT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY(kind, resource_group, workspace, name));
CREATE TABLE job(
    uuid TEXT PRIMARY KEY,
    subscription TEXT NOT NULL, resource_group TEXT NOT NULL, workspace TEXT NOT NULL,
    experiment TEXT NOT NULL, name TEXT NOT NULL, cluster TEXT NOT NULL,
    slurm_id INTEGER NOT NULL, local INTEGER NOT NULL, created REAL NOT NULL,
    terminating INTEGER NOT NULL DEFAULT 0,
    state TEXT, start_time REAL, end_time REAL, exit_code INTEGER, errors TEXT);
CREATE INDEX job_name ON job(resource_group, workspace, experiment, name);
)",
                                                 // The documents last: lists skip them.
                                                 R"(
ALTER TABLE job ADD COLUMN tool TEXT;
ALTER TABLE job ADD COLUMN nodes INTEGER;
ALTER TABLE job ADD COLUMN document TEXT;
)",
                                                 // Tasks of arrays; job.slurm_id is a task's own
                                                 // number. Columns behind the document would
                                                 // make lists read it.
                                                 R"(
CREATE TABLE task(uuid TEXT PRIMARY KEY, array_id INTEGER NOT NULL, place INTEGER NOT NULL);
)"};
constexpr int kSchemaVersion = static_cast<int>(kMigrations.size());

constexpr std::array<std::pair<Resource::Kind, const char*>, 6> kKinds{
    {{Resource::Kind::group, "group"},
     {Resource::Kind::workspace, "workspace"},
     {Resource::Kind::experiment, "experiment"},
     {Resource::Kind::cluster, "cluster"},
     {Resource::Kind::account, "account"},
     {Resource::Kind::file_server, "file server"}}};

nlohmann::json errors_json(const std::vector<JobError>& errors) {
    auto array = nlohmann::json::array();
    for (const auto& error : errors)
        array.push_back({{"code", error.code}, {"message", error.message}, {"node", error.node}});
    return array;
}

// Returns nothing if the text was not made by errors_json.
std::optional<std::vector<JobError>> errors_from(const std::string& text) {
    const auto array = nlohmann::json::parse(text, nullptr, false);
    if (!array.is_array()) return std::nullopt;
    try {
        std::vector<JobError> errors;
        for (const auto& item : array)
            errors.push_back({item.at("code"), item.at("message"), item.at("node")});
        return errors;
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;
    }
}

// Returns nothing if another program has changed the row. The caller then judges the record again.
std::optional<Execution> outcome_of(const Statement& row, int column) {
    const auto state = state_from_name(row.text(column));
    auto errors = errors_from(row.text(column + 4));
    if (!state || !errors) return std::nullopt;
    Execution execution;
    execution.state = *state;
    if (!row.is_null(column + 1)) execution.start_time = row.real(column + 1);
    if (!row.is_null(column + 2)) execution.end_time = row.real(column + 2);
    if (!row.is_null(column + 3)) execution.exit_code = static_cast<int>(row.integer(column + 3));
    execution.errors = *std::move(errors);
    return execution;
}

// Whether the text can be a stored document. It is empty if the caller did not ask for documents.
bool is_document(const std::string& text) {
    return text.empty() || (text.starts_with('{') && text.ends_with('}'));
}

// The column "terminating".
constexpr std::int64_t kNotEnding = 0;
constexpr std::int64_t kTerminating = 1;
constexpr std::int64_t kDeleting = 2;

JobRow job_of(const Statement& row) {
    JobRow job;
    job.identity.uuid = row.text(0);
    job.identity.subscription = row.text(1);
    job.identity.resource_group = row.text(2);
    job.identity.workspace = row.text(3);
    job.identity.experiment = row.text(4);
    job.identity.name = row.text(5);
    job.identity.cluster = row.text(6);
    job.number = row.is_null(19)
                     ? job::Number::of_job(row.integer(7))
                     : job::Number::of_task(row.integer(19), row.integer(20), row.integer(7));
    job.local = row.integer(8) != 0;
    job.created = row.real(9);
    job.terminating = row.integer(10) != kNotEnding;
    job.deleting = row.integer(10) == kDeleting;
    if (!row.is_null(11)) job.outcome = outcome_of(row, 11);
    if (job.outcome && !row.is_null(16) && is_document(row.text(18)))
        job.kept = KeptJob{row.text(16), static_cast<int>(row.integer(17)), row.text(18)};
    return job;
}

sys::Result<int> schema_version(Database& database) {
    auto query = database.prepare("PRAGMA user_version");
    if (!query) return query.error();
    const auto row = query->step();
    if (!row) return row.error();
    return static_cast<int>(query->integer(0));
}

// Makes all of the change or none of it.
template <class Change>
sys::Result<void> in_transaction(Database& database, const Change& change) {
    if (auto begun = database.execute("BEGIN IMMEDIATE"); !begun) return begun;
    auto done = change();
    if (done) done = database.execute("COMMIT");
    if (!done) static_cast<void>(database.execute("ROLLBACK"));
    return done;
}

// An error if this batchai cannot use the file's schema. It says what to do.
sys::Result<int> known_version(Database& database) {
    const auto version = schema_version(database);
    if (!version) return version.error();
    if (*version >= 0 && *version <= kSchemaVersion) return *version;
    return database.error(fmt::format(
        "written by {} (schema {}, this one knows {}): use {}, or move the file away: jobs are "
        "found again by their records",
        *version < 0 ? "another program" : "a newer batchai", *version, kSchemaVersion,
        *version < 0 ? "a batchai's own file" : "the newer one"));
}

sys::Result<void> prepare_schema(Database& database) {
    auto version = known_version(database);
    if (!version) return version.error();
    if (*version == kSchemaVersion) return {};
    return in_transaction(database, [&]() -> sys::Result<void> {
        version = known_version(database);  // another client may have upgraded it
        if (!version) return version.error();
        std::string steps;
        for (int i = *version; i < kSchemaVersion; ++i) steps += kMigrations.at(i);
        return database.execute(steps + fmt::format("PRAGMA user_version = {}", kSchemaVersion));
    });
}

}  // namespace

const char* kind_name(Resource::Kind kind) {
    for (const auto& [value, name] : kKinds)
        if (value == kind) return name;
    return "";
}

std::string shown_name(const job::Identity& identity, const job::Number& number) {
    return number.is_task() ? fmt::format("{}/{}", identity.name, number.index()) : identity.name;
}

std::string whole_uuid(const JobRow& row) {
    const std::string& uuid = row.identity.uuid;
    const std::string end = fmt::format("-{}", row.number.index());
    return row.number.is_task() && uuid.ends_with(end) ? uuid.substr(0, uuid.size() - end.size())
                                                       : uuid;
}

sys::Result<History> History::open(const std::string& directory) {
    const std::string file = directory + "/history.db";
    auto database = Database::open(file, kBusyMilliseconds);
    if (!database) return database.error();
    if (auto done = database->execute("PRAGMA journal_mode = PERSIST"); !done) return done.error();
    if (auto done = prepare_schema(*database); !done) return done.error();
    return History(*std::move(database));
}

sys::Result<void> History::put(const Resource& resource) {
    auto insert = database_.prepare("INSERT OR REPLACE INTO resource VALUES (?1, ?2, ?3, ?4, ?5)");
    if (!insert) return insert.error();
    return insert->bind(1, std::string(kind_name(resource.kind)))
        .bind(2, resource.resource_group)
        .bind(3, resource.workspace)
        .bind(4, resource.name)
        .bind(5, json_text(resource.document))
        .run();
}

sys::Result<std::optional<Resource>> History::find(Resource::Kind kind,
                                                   const std::string& resource_group,
                                                   const std::string& workspace,
                                                   const std::string& name) {
    auto all = list(kind, resource_group, workspace);
    if (!all) return all.error();
    for (auto& resource : *all)
        if (resource.name == name) return std::optional<Resource>(std::move(resource));
    return std::optional<Resource>();
}

sys::Result<std::vector<Resource>> History::list(Resource::Kind kind,
                                                 const std::string& resource_group,
                                                 const std::string& workspace) {
    auto query = database_.prepare(
        "SELECT resource_group, workspace, name, document FROM resource WHERE kind = ?1 "
        "AND (?2 = '' OR resource_group = ?2) AND (?3 = '' OR workspace = ?3) "
        "ORDER BY name, resource_group, workspace");
    if (!query) return query.error();
    query->bind(1, std::string(kind_name(kind))).bind(2, resource_group).bind(3, workspace);
    std::vector<Resource> resources;
    for (;;) {
        const auto row = query->step();
        if (!row) return row.error();
        if (!*row) return resources;
        resources.push_back({kind, query->text(0), query->text(1), query->text(2),
                             nlohmann::json::parse(query->text(3), nullptr, false)});
    }
}

sys::Result<bool> History::remove(const Resource& resource) {
    std::string where = "kind = ?1 AND resource_group = ?2 AND workspace = ?3 AND name = ?4";
    if (resource.kind == Resource::Kind::group) where = "resource_group = ?2";
    if (resource.kind == Resource::Kind::workspace)
        where = "resource_group = ?2 AND (workspace = ?4 OR (kind = ?1 AND name = ?4))";
    auto query = database_.prepare("DELETE FROM resource WHERE " + where);
    if (!query) return query.error();
    const auto done = query->bind(1, std::string(kind_name(resource.kind)))
                          .bind(2, resource.resource_group)
                          .bind(3, resource.workspace)
                          .bind(4, resource.name)
                          .run();
    if (!done) return done.error();
    return database_.changes() > 0;
}

sys::Result<bool> History::add_job(const JobRow& job, bool allow_duplicate) {
    auto insert = database_.prepare(
        "INSERT INTO job(uuid, subscription, resource_group, workspace, experiment, "
        "name, cluster, slurm_id, local, created) "
        "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 WHERE ?11 OR NOT EXISTS (SELECT 1 FROM "
        "job WHERE resource_group = ?3 AND workspace = ?4 AND experiment = ?5 AND name = ?6) "
        "ON CONFLICT(uuid) DO UPDATE SET slurm_id = excluded.slurm_id "
        "WHERE slurm_id = 0 AND excluded.slurm_id > 0");
    if (!insert) return insert.error();
    const auto& identity = job.identity;
    const auto done = insert->bind(1, identity.uuid)
                          .bind(2, identity.subscription)
                          .bind(3, identity.resource_group)
                          .bind(4, identity.workspace)
                          .bind(5, identity.experiment)
                          .bind(6, identity.name)
                          .bind(7, identity.cluster)
                          .bind(8, job.number.own())
                          .bind(9, std::int64_t{job.local})
                          .bind(10, job.created)
                          .bind(11, std::int64_t{allow_duplicate})
                          .run();
    if (!done) return done.error();
    const bool added = database_.changes() > 0;
    if (added)
        if (auto noted = note_task(job); !noted) return noted.error();
    return added;
}

sys::Result<void> History::note_task(const JobRow& job) {
    if (!job.number.is_task()) return {};
    auto insert = database_.prepare("INSERT OR REPLACE INTO task VALUES (?1, ?2, ?3)");
    if (!insert) return insert.error();
    return insert->bind(1, job.identity.uuid)
        .bind(2, job.number.whole())
        .bind(3, job.number.index())
        .run();
}

sys::Result<void> History::adopt(const std::vector<JobRow>& jobs) {
    if (jobs.empty()) return {};
    return in_transaction(database_, [&]() -> sys::Result<void> {
        for (const JobRow& job : jobs)
            if (const auto added = add_job(job, true); !added) return added.error();
        return {};
    });
}

sys::Result<std::vector<JobRow>> History::jobs(const JobFilter& filter) {
    auto query = database_.prepare(
        "SELECT uuid, subscription, resource_group, workspace, experiment, name, cluster, "
        "slurm_id, local, created, terminating, state, start_time, end_time, exit_code, errors, "
        "tool, nodes, CASE WHEN ?6 THEN document END, array_id, place "
        "FROM job LEFT JOIN task USING(uuid) WHERE (?1 = '' OR resource_group = ?1) "
        "AND (?2 = '' OR workspace = ?2) "
        "AND (?3 = '' OR experiment = ?3) "
        "AND (?4 = '' OR name = ?4) "
        "AND (?5 = '' OR uuid = ?5 OR (slurm_id > 0 AND slurm_id = ?5) OR (array_id IS NOT NULL "
        "AND (array_id = ?5 OR array_id || '_' || place = ?5 OR uuid = ?5 || '-' || place))) "
        "AND terminating >= ?7 "
        "ORDER BY created, uuid");
    if (!query) return query.error();
    query->bind(1, filter.resource_group)
        .bind(2, filter.workspace)
        .bind(3, filter.experiment)
        .bind(4, filter.name)
        .bind(5, filter.id)
        .bind(6, std::int64_t{filter.documents})
        .bind(7, filter.deleting ? kDeleting : kNotEnding);
    std::vector<JobRow> jobs;
    for (;;) {
        const auto row = query->step();
        if (!row) return row.error();
        if (!*row) return jobs;
        jobs.push_back(job_of(*query));
    }
}

sys::Result<void> History::set_numbers(const std::vector<const JobRow*>& rows) {
    if (rows.empty()) return {};
    auto update = database_.prepare("UPDATE job SET slurm_id = ?2 WHERE uuid = ?1");
    if (!update) return update.error();
    return in_transaction(database_, [&]() -> sys::Result<void> {
        for (const JobRow* row : rows) {
            auto done = update->bind(1, row->identity.uuid).bind(2, row->number.own()).run();
            if (done) done = note_task(*row);
            if (!done) return done;
        }
        return {};
    });
}

sys::Result<void> History::set_terminating(const std::string& uuid) {
    return set_ending(uuid, kTerminating);
}

sys::Result<void> History::set_deleting(const std::string& uuid) {
    return set_ending(uuid, kDeleting);
}

sys::Result<void> History::set_ending(const std::string& uuid, std::int64_t ending) {
    auto update =
        database_.prepare("UPDATE job SET terminating = max(terminating, ?2) WHERE uuid = ?1");
    if (!update) return update.error();
    return update->bind(1, uuid).bind(2, ending).run();
}

sys::Result<void> History::keep(const std::vector<const JobRow*>& rows) {
    if (rows.empty()) return {};
    auto update = database_.prepare(
        "UPDATE job SET state = ?2, start_time = ?3, end_time = ?4, exit_code = ?5, errors = ?6, "
        "tool = ?7, nodes = ?8, document = ?9 WHERE uuid = ?1");
    if (!update) return update.error();
    return in_transaction(database_, [&]() -> sys::Result<void> {
        for (const JobRow* row : rows) {
            const Execution& execution = *row->outcome;
            std::optional<std::int64_t> code;
            if (execution.exit_code) code = *execution.exit_code;
            auto done = update->bind(1, row->identity.uuid)
                            .bind(2, std::string(state_name(execution.state)))
                            .bind(3, execution.start_time)
                            .bind(4, execution.end_time)
                            .bind(5, code)
                            .bind(6, json_text(errors_json(execution.errors)))
                            .bind(7, row->kept->tool)
                            .bind(8, std::int64_t{row->kept->nodes})
                            .bind(9, row->kept->document)
                            .run();
            if (!done) return done;
        }
        return {};
    });
}

sys::Result<std::unordered_set<std::string>> History::uuids() {
    auto query = database_.prepare(
        "SELECT uuid FROM job LEFT JOIN task USING(uuid) WHERE local OR slurm_id > 0 OR place >= "
        "0");
    if (!query) return query.error();
    std::unordered_set<std::string> uuids;
    for (;;) {
        const auto row = query->step();
        if (!row) return row.error();
        if (!*row) return uuids;
        uuids.insert(query->text(0));
    }
}

sys::Result<void> History::remove_job(const std::string& uuid) {
    for (const char* statement :
         {"DELETE FROM task WHERE uuid = ?1", "DELETE FROM job WHERE uuid = ?1"}) {
        auto query = database_.prepare(statement);
        if (!query) return query.error();
        if (auto done = query->bind(1, uuid).run(); !done) return done;
    }
    return {};
}

}  // namespace batchai::cli
