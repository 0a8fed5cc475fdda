#include "load/core/csv_trace.h"

#include "common/base/clean_text.h"
#include "common/http/text.h"
#include "common/values/rfc3339.h"
#include "common/values/whole_number.h"

#include <algorithm>
#include <string>
#include <utility>

namespace sluice::loadgen {

namespace {

constexpr std::size_t kLookedLines = 1000;
constexpr std::size_t kLookedBytes = kTraceLineMax;
constexpr int kFinestDigits = 3;                      // from a millisecond on, a time is not spread
constexpr std::uint64_t kSecondsMax = 7'258'118'400;  // 2200-01-01
// Seconds since 1970 reach this in 5138, milliseconds did in 1973.
constexpr std::uint64_t kMillisecondsFrom = 100'000'000'000;
constexpr std::uint64_t kDurationMsMax = 86'400'000;

struct Decimal {
  std::uint64_t whole = 0;
  std::int64_t billionths = 0;
  int digits = 0;  // after the point
};

// Digits, and after a point more of them; what is finer than a billionth is cut off.
std::optional<Decimal> read_decimal(std::string_view text) {
  const std::size_t point = text.find('.');
  const auto whole = whole_number<std::uint64_t>(text.substr(0, point));
  if (!whole) return std::nullopt;
  Decimal decimal{*whole};
  if (point == std::string_view::npos) return decimal;
  const std::string_view rest = text.substr(point + 1);
  std::int64_t unit = 1'000'000'000;
  for (const char c : rest) {
    if (c < '0' || c > '9') return std::nullopt;
    ++decimal.digits;
    unit /= 10;
    decimal.billionths += unit * (c - '0');
  }
  return rest.empty() ? std::nullopt : std::optional{decimal};
}

// Digits of the second in RFC 3339.
int fraction_digits(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos) return 0;
  const std::size_t end = text.find_first_not_of("0123456789", point + 1);
  return static_cast<int>((end == std::string_view::npos ? text.size() : end) - point - 1);
}

Duration seconds_of(const Decimal& decimal) {
  return std::chrono::seconds{static_cast<std::int64_t>(decimal.whole)} +
         Duration{decimal.billionths};
}

Duration milliseconds_of(const Decimal& decimal) {
  return std::chrono::milliseconds{static_cast<std::int64_t>(decimal.whole)} +
         Duration{decimal.billionths / 1000};
}

}  // namespace

CsvTrace::Column CsvTrace::column_of(std::string_view name) {
  for (const Name& known : kNames) {
    if (known.text == name) return known.column;
  }
  return Column::none;
}

bool CsvTrace::is_header(std::string_view line) {
  CsvFields fields;
  if (!fields.split(line)) return false;
  return std::any_of(fields.all().begin(), fields.all().end(), [](std::string_view field) {
    const Column column = column_of(http::trimmed(field));
    return column == Column::time || column == Column::at_s;
  });
}

Result<CsvTrace, Problem> CsvTrace::open(std::string_view header) {
  CsvTrace trace;
  if (!trace.fields_.split(header)) {
    return Problem{"the header has an open quote", "write it like time,path,duration_ms"};
  }
  int times = 0;
  for (const std::string_view field : trace.fields_.all()) {
    const Column column = column_of(http::trimmed(field));
    const bool again = column != Column::none &&
                       std::count(trace.columns_.begin(), trace.columns_.end(), column) > 0;
    if (again) {
      return Problem{"the header has '" + std::string{http::trimmed(field)} + "' twice",
                     "keep one of the columns"};
    }
    if (column == Column::time || column == Column::at_s) ++times;
    trace.columns_.push_back(column);
  }
  if (times == 1) return trace;
  if (times == 2) return Problem{"the header has both 'time' and 'at_s'", "keep one of them"};
  return Problem{"no column 'time' or 'at_s' in '" + clean_text(header.substr(0, 60)) + "'",
                 "begin with a header like time,path,duration_ms"};
}

std::optional<Skip> CsvTrace::read(std::string_view line, const CellSink& sink) {
  if (!fields_.split(line) || fields_.all().size() != columns_.size()) return Skip::fields;
  if (const auto skip = read_fields()) return skip;
  if (const auto skip = place()) return skip;
  if (!looking_) {
    cell_.length = resolution_;
    sink(cell_);
    return std::nullopt;
  }
  looked_bytes_ += line.size();
  kept_.push_back(cell_);
  if (kept_.size() >= kLookedLines || looked_bytes_ > kLookedBytes) finish(sink);
  return std::nullopt;
}

std::optional<Skip> CsvTrace::read_fields() {
  cell_.service.clear();
  cell_.host.clear();
  cell_.method.clear();
  cell_.path.clear();
  cell_.duration.reset();
  cell_.status.reset();
  cell_.body_bytes.reset();
  bool timed = false;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string_view text = http::trimmed(fields_.all()[i]);
    if (text.empty() || text == "-") continue;
    switch (columns_[i]) {
      case Column::none:
        break;
      case Column::time:
      case Column::at_s:
        dated_ = columns_[i] == Column::time;
        timed = read_time(text);
        break;
      case Column::method:
        cell_.method = text;
        break;
      case Column::path:
        cell_.path = text;
        break;
      case Column::host:
        cell_.host = text;
        break;
      case Column::service:
        cell_.service = text;
        break;
      case Column::duration_ms:
      case Column::status:
      case Column::body_bytes:
        if (!read_figure(columns_[i], text)) return Skip::number;
        break;
    }
  }
  return timed ? std::nullopt : std::optional{Skip::time};
}

bool CsvTrace::read_time(std::string_view text) {
  if (dated_) {
    if (const auto at = parse_rfc3339(text)) {
      time_ = at->time_since_epoch();
      digits_ = std::max(digits_, fraction_digits(text));
      return true;
    }
  }
  const auto decimal = read_decimal(text);
  if (!decimal) return false;
  if (dated_ && !in_milliseconds_) in_milliseconds_ = decimal->whole >= kMillisecondsFrom;
  const bool milliseconds = dated_ && *in_milliseconds_;
  if (decimal->whole / (milliseconds ? 1000U : 1U) >= kSecondsMax) return false;
  time_ = milliseconds ? milliseconds_of(*decimal) : seconds_of(*decimal);
  digits_ = std::max(digits_, decimal->digits + (milliseconds ? kFinestDigits : 0));
  return true;
}

bool CsvTrace::read_figure(Column column, std::string_view text) {
  if (column == Column::status) {
    cell_.status = whole_number<int>(text, 100, 599);
    return cell_.status.has_value();
  }
  if (column == Column::body_bytes) {
    cell_.body_bytes = whole_number<std::uint64_t>(text);
    return cell_.body_bytes.has_value();
  }
  const auto decimal = read_decimal(text);
  if (!decimal || decimal->whole > kDurationMsMax) return false;
  cell_.duration = milliseconds_of(*decimal);
  return true;
}

// Where the line lies in the trace.
std::optional<Skip> CsvTrace::place() {
  if (!first_) {
    first_ = dated_ ? time_ : Duration::zero();
    newest_ = time_;
  }
  if (time_ + kOrderKept < newest_) return Skip::order;
  newest_ = std::max(newest_, time_);
  // A line that is out of order may lie before the first one.
  cell_.at = std::max(time_ - *first_, Duration::zero());
  return std::nullopt;
}

void CsvTrace::finish(const CellSink& sink) {
  if (!looking_) return;
  looking_ = false;
  if (digits_ < kFinestDigits) {
    resolution_ = std::chrono::seconds{1};
    for (int i = 0; i < digits_; ++i) resolution_ /= 10;
  }
  for (TraceCell& cell : std::exchange(kept_, {})) {
    cell.length = resolution_;
    sink(cell);
  }
}

std::optional<TimePoint> CsvTrace::origin() const {
  if (!first_ || !dated_) return std::nullopt;
  return TimePoint{*first_};
}

}  // namespace sluice::loadgen
