#include "memory-pressure/core/journal_record.h"

#include "common/values/whole_number.h"

#include "memory-pressure/core/record_line.h"
#include <array>
#include <optional>

namespace sluice::node_agent {
namespace {

constexpr std::array<std::string_view, 6> kKinds{"throttle", "drop",   "sacrifice",
                                                 "frozen",   "thawed", "lease"};

std::int64_t milliseconds(TimePoint at) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
}

template <class Number>
bool read(std::string_view text, Number& to) {
  const auto value = whole_number<Number>(text);
  if (value) to = *value;
  return value.has_value();
}

bool read_text(std::string_view text, std::string& to) {
  auto value = unescaped(text);
  if (value) to = std::move(*value);
  return value.has_value();
}

bool read_time(std::string_view text, TimePoint& to) {
  constexpr std::int64_t kFarthest = std::int64_t{1} << 42;  // the year 2109
  const auto value = whole_number<std::int64_t>(text);
  if (!value || *value < -kFarthest || *value > kFarthest) return false;
  to = TimePoint{std::chrono::milliseconds{*value}};
  return true;
}

/// False when the value does not fit its key.
bool take(JournalRecord& record, std::string_view key, std::string_view value) {
  if (key == "boot") return read_text(value, record.boot_id);
  if (key == "gen") return read(value, record.generation);
  if (key == "at") return read_time(value, record.at);
  if (key == "id") return read_text(value, record.id);
  if (key == "pod") return read_text(value, record.pod_uid);
  if (key == "attempt") return read(value, record.attempt);
  if (key == "oq") return read(value, record.original.quota_us);
  if (key == "op") return read(value, record.original.period_us);
  if (key == "nq") return read(value, record.ours.quota_us);
  if (key == "np") return read(value, record.ours.period_us);
  if (key == "step") return read(value, record.ladder_step);
  if (key == "cg") return read_text(value, record.cgroup);
  if (key == "why") return read_text(value, record.why);
  return true;
}

Problem broken(std::string what) {
  return Problem{"journal line " + std::move(what),
                 "it is skipped; the file is rewritten at start"};
}

}  // namespace

std::string encode(const JournalRecord& record) {
  const std::string_view why = std::string_view{record.why}.substr(0, kWhyMax);
  std::string body{kKinds[static_cast<std::size_t>(record.kind)]};
  body += " gen=" + std::to_string(record.generation);
  body += " at=" + std::to_string(milliseconds(record.at));
  body += " boot=" + escaped(record.boot_id) + " id=" + escaped(record.id);
  body += " pod=" + escaped(record.pod_uid) + " attempt=" + std::to_string(record.attempt);
  body += " oq=" + std::to_string(record.original.quota_us);
  body += " op=" + std::to_string(record.original.period_us);
  body += " nq=" + std::to_string(record.ours.quota_us);
  body += " np=" + std::to_string(record.ours.period_us);
  body += " step=" + std::to_string(record.ladder_step);
  if (!record.cgroup.empty()) body += " cg=" + escaped(record.cgroup);
  body += " why=" + escaped(why);
  return record_line(body);
}

Result<JournalRecord, Problem> decode(std::string_view line) {
  const auto body = body_of(line);
  if (!body) return broken(body.error().what);
  std::string_view rest = *body;

  JournalRecord record;
  const std::string_view kind = next_word(rest);
  std::size_t at = 0;
  while (at < kKinds.size() && kKinds[at] != kind) ++at;
  if (at == kKinds.size()) return broken("has an unknown kind");
  record.kind = static_cast<RecordKind>(at);
  while (!rest.empty()) {
    const std::string_view word = next_word(rest);
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return broken("has a word without a value");
    if (!take(record, word.substr(0, equals), word.substr(equals + 1))) {
      return broken("has a wrong value for " + std::string{word.substr(0, equals)});
    }
  }
  if (record.id.empty()) return broken("names no container");
  return record;
}

}  // namespace sluice::node_agent
