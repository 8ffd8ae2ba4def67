// SPDX-License-Identifier: Apache-2.0
#include "cli/history/sqlite.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "sys/file_lock.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::cli {
namespace {

const char* remedy(int code) {
    switch (code & 0xff) {
        case SQLITE_BUSY:
            return ": another program keeps it locked: end it, or try again later";
        case SQLITE_FULL:
            return ": make room there";
        case SQLITE_READONLY:
            return ": make it and its directory writable";
        default:
            return "";
    }
}

sys::Error error_in(sqlite3* handle, const std::string& message) {
    const char* file = sqlite3_db_filename(handle, "main");
    return sys::Error{message}.in(file == nullptr ? "" : file);
}

sys::Error sqlite_error(sqlite3* handle) {
    return error_in(handle, sqlite3_errmsg(handle) + std::string(remedy(sqlite3_errcode(handle))));
}

}  // namespace

Statement& Statement::bind(int index, const std::string& value) {
    sqlite3_bind_text(statement_.get(), index, value.data(), static_cast<int>(value.size()),
                      SQLITE_TRANSIENT);
    return *this;
}

Statement& Statement::bind(int index, std::int64_t value) {
    sqlite3_bind_int64(statement_.get(), index, value);
    return *this;
}

Statement& Statement::bind(int index, double value) {
    sqlite3_bind_double(statement_.get(), index, value);
    return *this;
}

sys::Result<bool> Statement::step() {
    switch (sqlite3_step(statement_.get())) {
        case SQLITE_ROW:
            return true;
        case SQLITE_DONE:
            return false;
        default:
            return sqlite_error(sqlite3_db_handle(statement_.get()));
    }
}

sys::Result<void> Statement::run() {
    const auto row = step();
    if (!row) return row.error();
    sqlite3_reset(statement_.get());
    sqlite3_clear_bindings(statement_.get());
    return {};
}

std::string Statement::text(int column) const {
    const auto* bytes = sqlite3_column_text(statement_.get(), column);
    if (bytes == nullptr) return {};
    return {reinterpret_cast<const char*>(bytes),
            static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

sys::Result<Database> Database::open(const std::string& file, int busy_milliseconds) {
    // SQLite would let others read it. An error is left to SQLite. Closing the file drops this
    // process's locks on it, so it must not be open here already.
    if (const sys::UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)); fd) {
        (void)::fchmod(fd.get(), 0600);
        if (auto able = sys::check_locks(fd.get(), file); !able)
            return sys::Error{able.error().message +
                              ": ask the admin for a mount with locks, or set XDG_DATA_HOME to a "
                              "directory elsewhere that all nodes share"};
    }
    sqlite3* handle = nullptr;
    const int code =
        sqlite3_open_v2(file.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    Database database(handle);
    if (code != SQLITE_OK) return sys::Error{sqlite3_errmsg(handle)}.in(file);
    sqlite3_busy_timeout(handle, busy_milliseconds);
    return database;
}

sys::Error Database::error(const std::string& message) const {
    return error_in(handle_.get(), message);
}

sys::Result<void> Database::execute(const std::string& sql) {
    if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
        return sqlite_error(handle_.get());
    return {};
}

sys::Result<Statement> Database::prepare(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(handle_.get(), sql.c_str(), static_cast<int>(sql.size()), &statement,
                           nullptr) != SQLITE_OK)
        return sqlite_error(handle_.get());
    return Statement(statement);
}

}  // namespace batchai::cli
