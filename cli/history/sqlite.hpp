// SPDX-License-Identifier: Apache-2.0
//
// SQLite handles with owners: Database closes its file, Statement is finalized. Errors are
// sys::Result. For one thread.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sys/result.hpp"

namespace batchai::cli {

class Statement {
  public:
    explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

    Statement& bind(int index, const std::string& value);
    Statement& bind(int index, std::int64_t value);
    Statement& bind(int index, double value);
    template <class T>
    Statement& bind(int index, const std::optional<T>& value) {
        if (value) bind(index, *value);
        return *this;  // an unbound parameter is NULL
    }

    // True: there is a row. False: there are no more rows.
    sys::Result<bool> step();
    // Runs a statement that returns no rows. It may be bound and run again afterwards.
    sys::Result<void> run();

    std::string text(int column) const;
    std::int64_t integer(int column) const {
        return sqlite3_column_int64(statement_.get(), column);
    }
    double real(int column) const { return sqlite3_column_double(statement_.get(), column); }
    bool is_null(int column) const {
        return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
    }

  private:
    struct Finalize {
        void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
    };
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
  public:
    // Opens or creates the file. Waits up to busy_milliseconds for another process's lock. It is an
    // error if the file system has no locks: SQLite would call the file locked, or the disk broken.
    static sys::Result<Database> open(const std::string& file, int busy_milliseconds);

    sys::Result<void> execute(const std::string& sql);
    sys::Result<Statement> prepare(const std::string& sql);
    // An error of a caller, with the file's name like the errors of this class.
    sys::Error error(const std::string& message) const;
    int changes() const { return sqlite3_changes(handle_.get()); }

  private:
    struct Close {
        void operator()(sqlite3* h) const { sqlite3_close(h); }
    };
    explicit Database(sqlite3* handle) : handle_(handle) {}
    std::unique_ptr<sqlite3, Close> handle_;
};

}  // namespace batchai::cli
