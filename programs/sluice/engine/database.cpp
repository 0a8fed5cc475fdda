#include "programs/sluice/engine/database.h"

#include "platform/process/write_failures.h"
#include <cerrno>

namespace sluice::local {
namespace {

constexpr int kBusyMilliseconds = 250;

}  // namespace

// SQLite keeps no number of the system's error for a commit; errno still has it.
std::string reason_of(sqlite3* db) {
  const int of_system = errno != 0 ? errno : sqlite3_system_errno(db);
  const int code = sqlite3_errcode(db) & 0xff;
  if (code == SQLITE_FULL) return error_text(ENOSPC);
  const bool concerns_system = code == SQLITE_IOERR || code == SQLITE_CANTOPEN;
  return concerns_system && of_system != 0 ? error_text(of_system) : sqlite3_errmsg(db);
}

Database open_database(const std::filesystem::path& file, int flags, std::string& reason) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database db(raw);
  if (code != SQLITE_OK) {
    reason = raw == nullptr ? error_text(ENOMEM) : reason_of(raw);
    db.reset();
  } else {
    sqlite3_busy_timeout(raw, kBusyMilliseconds);
  }
  return db;
}

Statement prepare(sqlite3* db, const char* sql) {
  sqlite3_stmt* raw = nullptr;
  if (db == nullptr ||
      sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr) != SQLITE_OK) {
    return nullptr;
  }
  return Statement(raw);
}

bool bind_text(sqlite3_stmt* statement, int index, std::string_view text) {
  return sqlite3_bind_text(statement, index, text.data(), static_cast<int>(text.size()),
                           SQLITE_TRANSIENT) == SQLITE_OK;
}

bool step_done(sqlite3_stmt* statement) {
  const bool done = statement != nullptr && sqlite3_step(statement) == SQLITE_DONE;
  if (statement != nullptr) {
    sqlite3_reset(statement);
  }
  return done;
}

bool execute(sqlite3* db, const char* sql) {
  return sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

bool looks_broken(sqlite3* db) {
  const int code = db == nullptr ? SQLITE_OK : sqlite3_errcode(db);
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
}

std::int64_t pragma_number(sqlite3* db, const char* sql) {
  const Statement statement = prepare(db, sql);
  return statement && sqlite3_step(statement.get()) == SQLITE_ROW
             ? sqlite3_column_int64(statement.get(), 0)
             : 0;
}

}  // namespace sluice::local
