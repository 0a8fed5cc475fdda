#include "programs/sluice/engine/history.h"

#include "autoscaler/io/decision_json.h"
#include "common/json/parse.h"
#include "common/json/write.h"

#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

namespace sluice::local {
namespace {

enum class Kind : int { decision = 1, cold_start = 2 };

// Rows between two looks at age and size, and rows of one transaction at most.
constexpr std::size_t kPruneEvery = 512;
constexpr std::size_t kBatchMax = 256;
constexpr int kBusyMilliseconds = 250;

constexpr const char* kSchema =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=4194304;"
    "CREATE TABLE IF NOT EXISTS rows(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL,"
    " service TEXT NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS rows_by_service ON rows(kind, service, at);"
    "CREATE INDEX IF NOT EXISTS rows_by_time ON rows(at);";

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};

struct FinishStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, FinishStatement>;

Database open_database(const std::filesystem::path& file, int flags) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database db(raw);
  if (code != SQLITE_OK) {
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

std::int64_t nanoseconds(TimePoint at) {
  return at.time_since_epoch().count();
}

// Runs a statement without rows and makes it fit for the next use.
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

}  // namespace

// The thread, its connection and the queue in front of it.
class History::Writer {
 public:
  Writer(HistoryOptions options, Warn warn) : options_(std::move(options)), warn_(std::move(warn)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

  struct Row {
    Kind kind;
    std::string service;
    std::int64_t at;
    std::string body;
  };

  void push(Row row) {
    const std::scoped_lock hold(mutex_);
    if (queue_.size() >= options_.queue_max) {
      ++dropped_;
      return;
    }
    queue_.push_back(std::move(row));
    changed_.notify_all();
  }

  [[nodiscard]] std::uint64_t dropped() const {
    const std::scoped_lock hold(mutex_);
    return dropped_;
  }

  [[nodiscard]] bool flush(Duration timeout) const {
    std::unique_lock hold(mutex_);
    return changed_.wait_for(hold, timeout,
                             [this] { return opened_ && queue_.empty() && !writing_; });
  }

 private:
  void run(const std::stop_token& stop) {
    open();
    while (true) {
      std::vector<Row> batch;
      {
        std::unique_lock hold(mutex_);
        opened_ = true;
        writing_ = false;
        changed_.notify_all();
        changed_.wait(hold, stop, [this] { return !queue_.empty(); });
        if (queue_.empty()) {
          return;
        }
        const auto end =
            queue_.begin() + static_cast<std::ptrdiff_t>(std::min(queue_.size(), kBatchMax));
        std::move(queue_.begin(), end, std::back_inserter(batch));
        queue_.erase(queue_.begin(), end);
        writing_ = true;
      }
      if (!write(batch)) {
        const std::scoped_lock hold(mutex_);
        dropped_ += batch.size();
      }
    }
  }

  void open() {
    constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    db_ = open_database(options_.file, kFlags);
    if (db_ && !execute(db_.get(), kSchema) && looks_broken(db_.get())) {
      // A file that is not a database is renamed and kept, and a new one is begun.
      db_.reset();
      std::error_code ignored;
      std::filesystem::rename(options_.file, options_.file.string() + ".broken", ignored);
      db_ = open_database(options_.file, kFlags);
      if (db_) {
        execute(db_.get(), kSchema);
      }
    }
    insert_ = prepare(db_.get(), "INSERT INTO rows(kind, service, at, body) VALUES(?,?,?,?)");
    forget_old_ = prepare(db_.get(), "DELETE FROM rows WHERE at < ?");
    forget_some_ = prepare(db_.get(),
                           "DELETE FROM rows WHERE id IN (SELECT id FROM rows ORDER BY at LIMIT "
                           "(SELECT max(1, count(*) / 10) FROM rows))");
    if (!insert_) {
      complain();
    }
  }

  bool write(const std::vector<Row>& batch) {
    if (!insert_ || !execute(db_.get(), "BEGIN IMMEDIATE")) {
      complain();
      return false;
    }
    for (const Row& row : batch) {
      sqlite3_bind_int(insert_.get(), 1, static_cast<int>(row.kind));
      bind_text(insert_.get(), 2, row.service);
      sqlite3_bind_int64(insert_.get(), 3, row.at);
      bind_text(insert_.get(), 4, row.body);
      newest_ = std::max(newest_, row.at);
      if (!step_done(insert_.get())) {
        complain();
        execute(db_.get(), "ROLLBACK");
        return false;
      }
    }
    if (!execute(db_.get(), "COMMIT")) {
      complain();
      execute(db_.get(), "ROLLBACK");
      return false;
    }
    since_prune_ += batch.size();
    if (since_prune_ >= kPruneEvery || first_) {
      first_ = false;
      since_prune_ = 0;
      prune();
    }
    return true;
  }

  // Age is counted back from the newest row, so that no clock is read here.
  void prune() {
    sqlite3_bind_int64(forget_old_.get(), 1, newest_ - options_.age_max.count());
    step_done(forget_old_.get());
    const std::int64_t page = pragma_number(db_.get(), "PRAGMA page_size");
    for (int round = 0; round < 64; ++round) {
      const std::int64_t used = pragma_number(db_.get(), "PRAGMA page_count") -
                                pragma_number(db_.get(), "PRAGMA freelist_count");
      if (used * page <= options_.bytes_max || !step_done(forget_some_.get())) {
        return;
      }
    }
  }

  void complain() {
    if (std::exchange(complained_, true) || !warn_) {
      return;
    }
    const std::string reason = db_ ? sqlite3_errmsg(db_.get()) : "cannot be opened";
    warn_(
        {.what = "history " + options_.file.string() + ": " + reason + "; going on without history",
         .fix = "free space there or make it writable, or set XDG_STATE_HOME"});
  }

  HistoryOptions options_;
  Warn warn_;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  std::deque<Row> queue_;      // guarded by mutex_
  std::uint64_t dropped_ = 0;  // guarded by mutex_
  bool opened_ = false;        // guarded by mutex_
  bool writing_ = false;       // guarded by mutex_

  // Below: the thread's own.
  Database db_;
  Statement insert_;
  Statement forget_old_;
  Statement forget_some_;
  std::int64_t newest_ = 0;
  std::size_t since_prune_ = 0;
  bool first_ = true;
  bool complained_ = false;
  // Last, so that it has ended before anything it uses goes.
  std::jthread thread_;
};

class History::Reader {
 public:
  explicit Reader(std::filesystem::path file) : file_(std::move(file)) {}

  std::vector<nlohmann::json> since(Kind kind, std::string_view service, TimePoint from,
                                    std::size_t limit) {
    return rows(
        "SELECT body FROM rows WHERE kind=? AND service=? AND at>=? "
        "ORDER BY at DESC, id DESC LIMIT ?",
        {kind, service, nanoseconds(from), limit});
  }

  std::optional<nlohmann::json> newest(Kind kind, std::string_view service, TimePoint at) {
    auto found = rows(
        "SELECT body FROM rows WHERE kind=? AND service=? AND at<=? "
        "ORDER BY at DESC, id DESC LIMIT ?",
        {kind, service, nanoseconds(at), 1});
    if (found.empty()) {
      return std::nullopt;
    }
    return std::move(found.front());
  }

 private:
  struct Bounds {
    Kind kind;
    std::string_view service;
    std::int64_t at;
    std::size_t limit;
  };

  std::vector<nlohmann::json> rows(const char* sql, const Bounds& bounds) {
    std::vector<nlohmann::json> found;
    if (!db_) {
      db_ = open_database(file_, SQLITE_OPEN_READONLY);
    }
    const Statement statement = prepare(db_.get(), sql);
    if (!statement) {
      return found;
    }
    sqlite3_bind_int(statement.get(), 1, static_cast<int>(bounds.kind));
    bind_text(statement.get(), 2, bounds.service);
    sqlite3_bind_int64(statement.get(), 3, bounds.at);
    sqlite3_bind_int64(statement.get(), 4, static_cast<std::int64_t>(bounds.limit));
    while (sqlite3_step(statement.get()) == SQLITE_ROW) {
      const unsigned char* text = sqlite3_column_text(statement.get(), 0);
      auto row = reading::parsed(text == nullptr ? "" : reinterpret_cast<const char*>(text));
      if (!row.is_null()) {
        found.push_back(std::move(row));
      }
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

  std::filesystem::path file_;
  Database db_;
};

History::History(const HistoryOptions& options, Warn warn)
    : writer_(std::make_unique<Writer>(options, std::move(warn))),
      reader_(std::make_unique<Reader>(options.file)) {}

History::~History() = default;

void History::record(const model::Revision& of, const autoscaler::DecisionRecord& record) {
  record_decision(of.service, record.time,
                  autoscaler::explained_json(record, autoscaler::about(of)));
}

void History::record_cold_start(const model::Revision& of, TimePoint at,
                                const nlohmann::json& event) {
  record_cold_start(of.service, at, event);
}

std::vector<nlohmann::json> History::decisions(const model::Revision& of, TimePoint since) const {
  return decisions(std::string_view{of.service}, since);
}

std::optional<nlohmann::json> History::decision_at(const model::Revision& of, TimePoint at) const {
  return decision_at(of.service, at);
}

std::optional<nlohmann::json> History::cold_start_at(const model::Revision& of,
                                                     TimePoint at) const {
  return cold_start_at(of.service, at);
}

void History::record_decision(std::string_view service, TimePoint at,
                              const nlohmann::json& decision) {
  writer_->push({.kind = Kind::decision,
                 .service = std::string(service),
                 .at = nanoseconds(at),
                 .body = json_line(decision)});
}

void History::record_cold_start(std::string_view service, TimePoint at,
                                const nlohmann::json& cold_start) {
  writer_->push({.kind = Kind::cold_start,
                 .service = std::string(service),
                 .at = nanoseconds(at),
                 .body = json_line(cold_start)});
}

std::vector<nlohmann::json> History::decisions(std::string_view service, TimePoint since,
                                               std::size_t limit) const {
  return reader_->since(Kind::decision, service, since, limit);
}

std::optional<nlohmann::json> History::decision_at(std::string_view service, TimePoint at) const {
  return reader_->newest(Kind::decision, service, at);
}

std::optional<nlohmann::json> History::cold_start_at(std::string_view service, TimePoint at) const {
  return reader_->newest(Kind::cold_start, service, at);
}

std::uint64_t History::dropped() const {
  return writer_->dropped();
}

bool History::flush(Duration timeout) const {
  return writer_->flush(timeout);
}

}  // namespace sluice::local
