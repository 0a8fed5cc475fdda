#include "programs/sluice/engine/history_records.h"

#include "common/json/parse.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace sluice::local {
namespace {

constexpr int kRowsFound = 50;  // in one call: some 30 us

}  // namespace

HistoryRecords::HistoryRecords(const std::filesystem::path& file, const RowsAsked& asked)
    : file_{file}, asked_{asked} {}

// By the index alone; the texts are read one by one. The file is opened by a call of its own: it
// may be another one than at the last answer.
bool HistoryRecords::find() {
  if (!db_) {
    std::string ignored;
    db_ = open_database(file_, SQLITE_OPEN_READONLY, ignored);
    find_ = prepare(db_.get(),
                    "SELECT id FROM rows WHERE kind=? AND service=? AND at>=? "
                    "ORDER BY at DESC, id DESC LIMIT ?");
    if (!find_) return false;
    sqlite3_bind_int(find_.get(), 1, static_cast<int>(asked_.kind));
    bind_text(find_.get(), 2, asked_.service);
    sqlite3_bind_int64(find_.get(), 3, asked_.since.time_since_epoch().count());
    sqlite3_bind_int64(find_.get(), 4, static_cast<std::int64_t>(asked_.most));
    return true;
  }
  for (int i = 0; i < kRowsFound; ++i) {
    if (sqlite3_step(find_.get()) != SQLITE_ROW) {
      find_.reset();
      if (!asked_.newest_first) std::reverse(ids_.begin(), ids_.end());
      read_ = prepare(db_.get(), "SELECT body FROM rows WHERE id=?");
      return false;
    }
    ids_.push_back(sqlite3_column_int64(find_.get(), 0));
  }
  return true;
}

void HistoryRecords::write(std::string& out, std::size_t place) {
  if (!read_) return;
  sqlite3_bind_int64(read_.get(), 1, ids_[place]);
  if (sqlite3_step(read_.get()) == SQLITE_ROW) {
    const unsigned char* const body = sqlite3_column_text(read_.get(), 0);
    const std::string_view text = body == nullptr ? "" : reinterpret_cast<const char*>(body);
    if (!reading::parsed(text).is_null()) out += text;
  }
  sqlite3_reset(read_.get());
}

}  // namespace sluice::local
