#include "programs/sluice/engine/history.h"

#include "autoscaler/io/decision_json.h"
#include "common/json/parse.h"
#include "common/json/write.h"

#include <nlohmann/json.hpp>

#include "platform/process/time_text.h"
#include "platform/process/write_failures.h"
#include "programs/sluice/engine/database.h"
#include "programs/sluice/engine/history_records.h"
#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

namespace sluice::local {
namespace {

// Services of which it is remembered what was lost.
constexpr std::size_t kGapsMax = 10'000;

// The newest of one service.
constexpr std::size_t kGapsShown = 100;

// Until what was lost is written, when there is nothing else to write.
constexpr auto kRetry = std::chrono::seconds{2};

constexpr const char* kTooMany = "more decisions at once than the disk takes";

// Rows between two looks at age and size, and rows of one transaction at most.
constexpr std::size_t kPruneEvery = 512;
constexpr std::size_t kBatchMax = 256;

constexpr const char* kSchema =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=4194304;"
    "CREATE TABLE IF NOT EXISTS rows(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL,"
    " service TEXT NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS rows_by_service ON rows(kind, service, at);"
    "CREATE INDEX IF NOT EXISTS rows_by_time ON rows(at);";

std::int64_t nanoseconds(TimePoint at) {
  return at.time_since_epoch().count();
}

nlohmann::json gap_json(const Gap& gap, bool lasts) {
  return {{"from", format_time(gap.from)},
          {"to", format_time(gap.to)},
          {"count", gap.count},
          {"reason", gap.reason},
          {"lasts", lasts}};
}

}  // namespace

// The thread, its connection and the queue in front of it.
class History::Writer {
 public:
  Writer(HistoryOptions options, Warn warn) : options_(std::move(options)), warn_(std::move(warn)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

  struct Row {
    RowKind kind;
    std::string service;
    std::int64_t at;
    std::string body;
  };

  void push(Row row) {
    const std::scoped_lock hold(mutex_);
    if (queue_.size() >= options_.queue_max) return lose(row, kTooMany);
    queue_.push_back(std::move(row));
    changed_.notify_all();
  }

  [[nodiscard]] std::uint64_t dropped() const {
    const std::scoped_lock hold(mutex_);
    return dropped_;
  }

  // What of `service` is lost and not in the file yet.
  [[nodiscard]] std::optional<Gap> gap(std::string_view service) const {
    const std::scoped_lock hold(mutex_);
    const auto found = gaps_.find(service);
    return found == gaps_.end() ? std::nullopt : std::optional{found->second};
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
        const auto has_rows = [this] { return !queue_.empty(); };
        // What is lost is written even if nothing is decided any more.
        const bool came = gaps_.empty() ? changed_.wait(hold, stop, has_rows)
                                        : changed_.wait_for(hold, stop, kRetry, has_rows);
        if (!came && stop.stop_requested()) {
          return;
        }
        const auto end =
            queue_.begin() + static_cast<std::ptrdiff_t>(std::min(queue_.size(), kBatchMax));
        std::move(queue_.begin(), end, std::back_inserter(batch));
        queue_.erase(queue_.begin(), end);
        writing_ = true;
      }
      keep(batch);
    }
  }

  void keep(const std::vector<Row>& batch) {
    last_try_ = batch.empty() ? last_try_ + kRetry : TimePoint{Duration{batch.back().at}};
    std::map<std::string, Gap, std::less<>> gaps;
    {
      const std::scoped_lock hold(mutex_);
      gaps = gaps_;
    }
    if (write(batch, gaps)) {
      notice_.worked(last_try_);
      const std::scoped_lock hold(mutex_);
      for (const auto& [service, gap] : gaps) {
        // What was lost meanwhile begins a gap of its own.
        Gap& now = gaps_[service];
        now.count -= gap.count;
        now.from = gap.to;
      }
      std::erase_if(gaps_, [](const auto& each) { return each.second.count == 0; });
      return;
    }
    const std::string reason = std::exchange(failure_, {});
    if (batch.empty()) return;
    if (notice_.failed(last_try_) && warn_) warn_(warning(reason));
    const std::scoped_lock hold(mutex_);
    for (const Row& row : batch) lose(row, reason);
  }

  // With mutex_ held.
  void lose(const Row& row, const std::string& reason) {
    ++dropped_;
    if (row.kind != RowKind::decision) return;
    if (gaps_.size() >= kGapsMax && !gaps_.contains(row.service)) return;
    gaps_[row.service].lose(TimePoint{Duration{row.at}}, reason);
  }

  [[nodiscard]] Problem warning(const std::string& reason) const {
    return {.what = "history is not kept: " + options_.file.string() + ": " + reason,
            .fix = "free space there or make it writable; it is then kept again by itself"};
  }

  // What was deleted is made again.
  void reopen_if_gone() {
    std::error_code failed;
    if (insert_ && std::filesystem::exists(options_.file, failed)) return;
    for (Statement* statement : {&insert_, &forget_old_, &forget_some_}) statement->reset();
    db_.reset();
    std::filesystem::create_directories(options_.file.parent_path(), failed);
    open();
  }

  void open() {
    constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    bool begun_again = false;
    db_ = open_database(options_.file, kFlags, failure_);
    if (db_ && !make_tables() && looks_broken(db_.get())) {
      // A file that is not a database is renamed and kept, and a new one is begun.
      db_.reset();
      std::error_code failed;
      std::filesystem::rename(options_.file, broken_file(), failed);
      db_ = open_database(options_.file, kFlags, failure_);
      begun_again = db_ && make_tables() && !failed;
    }
    insert_ = prepare(db_.get(), "INSERT INTO rows(kind, service, at, body) VALUES(?,?,?,?)");
    forget_old_ = prepare(db_.get(), "DELETE FROM rows WHERE at < ?");
    forget_some_ = prepare(db_.get(),
                           "DELETE FROM rows WHERE id IN (SELECT id FROM rows ORDER BY at LIMIT "
                           "(SELECT max(1, count(*) / 10) FROM rows))");
    if (begun_again) tell_of_broken();
  }

  [[nodiscard]] std::string broken_file() const { return options_.file.string() + ".broken"; }

  // Of all services, since it is not known which were in it.
  void tell_of_broken() {
    const TimePoint now = std::max(options_.opened, last_try_);
    const std::string what = options_.file.string() + " was damaged";
    const nlohmann::json gap = {{"to", format_time(now)}, {"reason", what}, {"lasts", false}};
    (void)insert(
        {.kind = RowKind::gap, .service = {}, .at = nanoseconds(now), .body = json_line(gap)});
    if (warn_) {
      warn_({.what = what + "; the history begins again",
             .fix = "what was in it is in " + broken_file()});
    }
  }

  [[nodiscard]] bool make_tables() {
    const bool made = execute(db_.get(), kSchema);
    if (!made) failure_ = reason_of(db_.get());
    return made;
  }

  [[nodiscard]] bool insert(const Row& row) {
    sqlite3_bind_int(insert_.get(), 1, static_cast<int>(row.kind));
    bind_text(insert_.get(), 2, row.service);
    sqlite3_bind_int64(insert_.get(), 3, row.at);
    bind_text(insert_.get(), 4, row.body);
    return step_done(insert_.get());
  }

  // All of them or none; the reason of a failure is what the database names last.
  bool write(const std::vector<Row>& batch, const std::map<std::string, Gap, std::less<>>& gaps) {
    reopen_if_gone();
    if (!insert_) return false;
    errno = 0;
    if (!execute(db_.get(), "BEGIN IMMEDIATE")) {
      failure_ = reason_of(db_.get());
      return false;
    }
    bool whole = true;
    for (const Row& row : batch) {
      newest_ = std::max(newest_, row.at);
      whole = whole && insert(row);
    }
    for (const auto& [service, gap] : gaps) {
      whole = whole && insert({.kind = RowKind::gap,
                               .service = service,
                               .at = nanoseconds(gap.to),
                               .body = json_line(gap_json(gap, false))});
    }
    if (!whole || !execute(db_.get(), "COMMIT")) {
      failure_ = reason_of(db_.get());
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

  HistoryOptions options_;
  Warn warn_;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  std::deque<Row> queue_;                         // guarded by mutex_
  std::uint64_t dropped_ = 0;                     // guarded by mutex_
  std::map<std::string, Gap, std::less<>> gaps_;  // by service; guarded by mutex_
  bool opened_ = false;                           // guarded by mutex_
  bool writing_ = false;                          // guarded by mutex_

  // Below: the thread's own.
  Database db_;
  Statement insert_;
  Statement forget_old_;
  Statement forget_some_;
  std::int64_t newest_ = 0;
  std::size_t since_prune_ = 0;
  bool first_ = true;
  FailureNotice notice_;
  TimePoint last_try_;   // of a write, as far as the times of rows show
  std::string failure_;  // why the last write failed
  // Last, so that it has ended before anything it uses goes.
  std::jthread thread_;
};

class History::Reader {
 public:
  explicit Reader(std::filesystem::path file) : file_(std::move(file)) {}

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

  std::vector<nlohmann::json> since(RowKind kind, std::string_view service, TimePoint from,
                                    std::size_t limit) {
    return rows(
        "SELECT body FROM rows WHERE kind=? AND service=? AND at>=? "
        "ORDER BY at DESC, id DESC LIMIT ?",
        {kind, service, nanoseconds(from), limit});
  }

  std::optional<nlohmann::json> newest(RowKind kind, std::string_view service, TimePoint at) {
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
    RowKind kind;
    std::string_view service;
    std::int64_t at;
    std::size_t limit;
  };

  // Opened each time: the file may be another one by now.
  std::vector<nlohmann::json> rows(const char* sql, const Bounds& bounds) {
    std::vector<nlohmann::json> found;
    std::string ignored;
    const Database db = open_database(file_, SQLITE_OPEN_READONLY, ignored);
    const Statement statement = prepare(db.get(), sql);
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

std::unique_ptr<autoscaler::KeptRecords> History::decisions(const model::Revision& of,
                                                            TimePoint since) const {
  return decisions(of.service, since);
}

std::vector<nlohmann::json> History::not_kept(const model::Revision& of, TimePoint since) const {
  return not_kept(std::string_view{of.service}, since);
}

std::optional<nlohmann::json> History::decision_at(const model::Revision& of, TimePoint at) const {
  return decision_at(of.service, at);
}

std::optional<nlohmann::json> History::cold_start_at(const model::Revision& of,
                                                     TimePoint at) const {
  return cold_start_at(of.service, at);
}

std::unique_ptr<autoscaler::KeptRecords> History::cold_starts(const model::Revision& of,
                                                              TimePoint since) const {
  return std::make_unique<HistoryRecords>(reader_->file(), RowsAsked{.kind = RowKind::cold_start,
                                                                     .service = of.service,
                                                                     .since = since,
                                                                     .most = kColdStartsShown,
                                                                     .newest_first = true});
}

void History::record_decision(std::string_view service, TimePoint at,
                              const nlohmann::json& decision) {
  writer_->push({.kind = RowKind::decision,
                 .service = std::string(service),
                 .at = nanoseconds(at),
                 .body = json_line(decision)});
}

void History::record_cold_start(std::string_view service, TimePoint at,
                                const nlohmann::json& cold_start) {
  writer_->push({.kind = RowKind::cold_start,
                 .service = std::string(service),
                 .at = nanoseconds(at),
                 .body = json_line(cold_start)});
}

std::unique_ptr<autoscaler::KeptRecords> History::decisions(std::string_view service,
                                                            TimePoint since,
                                                            std::size_t limit) const {
  return std::make_unique<HistoryRecords>(reader_->file(),
                                          RowsAsked{.kind = RowKind::decision,
                                                    .service = std::string(service),
                                                    .since = since,
                                                    .most = limit});
}

std::vector<nlohmann::json> History::not_kept(std::string_view service, TimePoint since) const {
  auto gaps = reader_->since(RowKind::gap, "", since, 1);
  auto own = reader_->since(RowKind::gap, service, since, kGapsShown);
  std::move(own.begin(), own.end(), std::back_inserter(gaps));
  const auto open = writer_->gap(service);
  if (open && open->to >= since) gaps.push_back(gap_json(*open, true));
  return gaps;
}

std::optional<nlohmann::json> History::decision_at(std::string_view service, TimePoint at) const {
  return reader_->newest(RowKind::decision, service, at);
}

std::optional<nlohmann::json> History::cold_start_at(std::string_view service, TimePoint at) const {
  return reader_->newest(RowKind::cold_start, service, at);
}

std::uint64_t History::dropped() const {
  return writer_->dropped();
}

bool History::flush(Duration timeout) const {
  return writer_->flush(timeout);
}

}  // namespace sluice::local
