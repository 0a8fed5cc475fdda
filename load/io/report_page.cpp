#include "load/io/report_page.h"

#include "common/dashboard/report_file.h"
#include "common/json/write.h"

#include <nlohmann/json.hpp>

#include "load/core/compact_histogram.h"
#include "load/io/report_parts.h"
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace sluice::loadgen {

using Json = nlohmann::ordered_json;

namespace {

// The rows of `seconds` with their histograms as they were counted.
class Seconds {
 public:
  explicit Seconds(Json rows) : rows_(std::move(rows)) {
    for (const Json& row : rows_) {
      auto read = CompactHistogram::parse(row["histogram"].get_ref<const std::string&>());
      counted_.push_back(read ? *std::move(read) : CompactHistogram{});
      if (row["at_s"] == rows_.front()["at_s"]) ++targets_;
    }
  }

  [[nodiscard]] bool can_join() const { return rows_.size() > 2 * targets_; }

  // Each two neighbours of a target become one.
  void join() {
    std::size_t kept = 0;
    for (std::size_t first = 0; first < rows_.size(); first += 2 * targets_) {
      for (std::size_t i = first; i < std::min(first + targets_, rows_.size()); ++i, ++kept) {
        const std::size_t next = i + targets_;
        if (next < rows_.size()) {
          counted_[i].add(counted_[next]);
          join_rows(rows_[i], rows_[next], counted_[i]);
        }
        if (kept == i) continue;
        rows_[kept] = std::move(rows_[i]);
        counted_[kept] = std::move(counted_[i]);
      }
    }
    rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(kept), rows_.end());
    counted_.resize(kept);
  }

  [[nodiscard]] Json shown() const {
    Json out = rows_;
    for (std::size_t i = 0; i < out.size(); ++i) out[i]["histogram"] = counted_[i].charted().text();
    return out;
  }

 private:
  static void join_rows(Json& row, const Json& next, const CompactHistogram& counted) {
    const double length = row["for_s"].get<double>();
    const double more = next["for_s"].get<double>();
    if (row["rate_planned"].is_number() && next["rate_planned"].is_number()) {
      const double requests =
          row["rate_planned"].get<double>() * length + next["rate_planned"].get<double>() * more;
      row["rate_planned"] = std::round(requests / (length + more) * 1e3) / 1e3;
    }
    row["for_s"] = length + more;
    for (const char* const name : {"sent", "answered", "errors", "not_sent"}) {
      row[name] = row[name].get<std::uint64_t>() + next[name].get<std::uint64_t>();
    }
    row["in_flight"] = next["in_flight"];
    if (!row["max_ms"].is_number() ||
        (next["max_ms"].is_number() && next["max_ms"] > row["max_ms"])) {
      row["max_ms"] = next["max_ms"];
    }
    for (const auto& [name, percent] : {std::pair{"p50_ms", 50.0}, std::pair{"p99_ms", 99.0}}) {
      if (counted.count() == 0 || !row["max_ms"].is_number()) continue;
      row[name] = std::min(ms(counted.percentile(percent)), row["max_ms"].get<double>());
    }
  }

  Json rows_;
  std::vector<CompactHistogram> counted_;
  std::size_t targets_ = 0;
};

// Every second row, and the last.
void thin(Json& rows) {
  Json out = Json::array();
  for (std::size_t i = rows.size() % 2 == 0 ? 1 : 0; i < rows.size(); i += 2) {
    out.push_back(std::move(rows[i]));
  }
  rows = std::move(out);
}

// Makes the report smaller by one step; false: there is none left.
bool shrink(Json& report, Seconds& seconds) {
  constexpr std::size_t kRowsMin = 64;
  if (seconds.can_join()) {
    seconds.join();
    return true;
  }
  Json& scaling = report["scaling"];
  if (!scaling.is_object()) return false;
  if (scaling.erase("services") > 0) return true;
  for (const char* const list : {"rows", "replicas", "decisions"}) {
    if (scaling[list].size() <= kRowsMin) continue;
    thin(scaling[list]);
    return true;
  }
  return false;
}

}  // namespace

std::string report_page(std::string_view json, std::string_view text) {
  Json report = Json::parse(json);
  Seconds seconds{std::exchange(report["seconds"], Json::array())};
  const dashboard::ReportFile file = dashboard::load_report();
  for (;;) {
    report["seconds"] = seconds.shown();
    std::string page =
        dashboard::page_of(file, text, json_line(Json{{"runs", Json::array({report})}}));
    if (page.size() <= kPageBytesMax || !shrink(report, seconds)) return page;
  }
}

}  // namespace sluice::loadgen
