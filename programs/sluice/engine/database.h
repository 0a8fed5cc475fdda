#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

/// The calls of SQLite that a History makes.
namespace sluice::local {

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};

struct FinishStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, FinishStatement>;

/// Why the step failed that has just failed.
[[nodiscard]] std::string reason_of(sqlite3* db);

/// Null when it cannot be opened, and then `reason` is why.
[[nodiscard]] Database open_database(const std::filesystem::path& file, int flags,
                                     std::string& reason);

/// Null without a database, or when it does not take the statement.
[[nodiscard]] Statement prepare(sqlite3* db, const char* sql);

bool bind_text(sqlite3_stmt* statement, int index, std::string_view text);

/// Runs a statement without rows and makes it fit for the next use.
bool step_done(sqlite3_stmt* statement);

bool execute(sqlite3* db, const char* sql);

/// Whether what failed last did because the file is no database, or a damaged one.
[[nodiscard]] bool looks_broken(sqlite3* db);

/// The number that a PRAGMA answers; 0 without one.
[[nodiscard]] std::int64_t pragma_number(sqlite3* db, const char* sql);

}  // namespace sluice::local
