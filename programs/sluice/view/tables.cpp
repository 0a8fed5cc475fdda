#include "programs/sluice/view/tables.h"

#include "common/json/read.h"
#include "common/values/rfc3339.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "platform/process/time_text.h"
#include "programs/sluice/view/fields.h"
#include "programs/sluice/view/not_ready.h"
#include "programs/sluice/view/places_text.h"
#include <algorithm>
#include <array>

namespace sluice::view {
namespace {

using nlohmann::json;
using Row = std::vector<std::string>;

std::string ready_of_wanted(const json& service) {
  return fmt::format("{}/{}", integer_field(service, "ready"), integer_field(service, "desired"));
}

std::string cold_text(const json& service) {
  const auto cold = reading::number(service, "last_cold_start_ms");
  return cold ? fmt::format("{:.0f} ms", *cold) : "-";
}

std::string percentiles(const json& service) {
  const auto p50 = reading::number(service, "p50_ms");
  const auto p99 = reading::number(service, "p99_ms");
  // 0: there was no request.
  return p50.value_or(0) > 0 || p99.value_or(0) > 0 ? rounded(p50) + " / " + rounded(p99) : "-";
}

std::string concurrency(const json& service) {
  return one_decimal(reading::number(service, "stable")) + " / " +
         one_decimal(reading::number(service, "panic"));
}

std::string state_text(const json& service) {
  if (text_field(service, "mode") != "panic") return text_field(service, "state");
  const auto lasting = reading::number(service, "mode_for_s");
  return lasting ? "panic " + minutes_text(*lasting) : "panic";
}

// Of the requests of a service.
std::string percent_text(std::int64_t percent) {
  return percent > 0 ? fmt::format("{} %", percent) : "-";
}

// In the largest unit that fits: `42s`, `5m`, `3h`, `2d`.
std::string age_text(Duration age) {
  const auto seconds =
      std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(age).count());
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m", seconds / 60);
  if (seconds < 86'400) return fmt::format("{}h", seconds / 3600);
  return fmt::format("{}d", seconds / 86'400);
}

std::string clock_text(const std::string& time) {
  const auto at = parse_rfc3339(time);
  return at ? local::format_clock(*at) : time;
}

// Of `top`, in the order of the screen. The columns of rank 0 always stay.
struct TopColumn {
  const char* head;
  int rank;
};

constexpr std::array<TopColumn, 11> kTopColumns = {{{"ENGINE", 0},
                                                    {"SERVICE", 0},
                                                    {"READY/WANT", 0},
                                                    {"CONC stable/panic", 4},
                                                    {"TARGET", 6},
                                                    {"RPS", 1},
                                                    {"QUEUE", 2},
                                                    {"p50/p99 ms", 5},
                                                    {"LAST COLD", 7},
                                                    {"STATE", 0},
                                                    {"WHY", 3}}};
constexpr int kLastRank = 7;
constexpr std::size_t kEngine = 0;
constexpr std::size_t kName = 1;
constexpr std::size_t kWhy = kTopColumns.size() - 1;
constexpr std::size_t kNameMin = 6;
constexpr std::size_t kWhyMin = 12;
constexpr std::size_t kBetween = 2;

std::vector<std::size_t> widths_of(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  }
  return widths;
}

// The rows of `top` within `columns`.
std::vector<Row> fitted(std::vector<Row> rows, std::size_t columns) {
  const std::vector<std::size_t> widths = widths_of(rows);
  std::array<bool, kTopColumns.size()> kept{};
  // What a name can be cut by.
  const auto spare = [&widths](std::size_t i) { return widths[i] - std::min(widths[i], kNameMin); };
  std::size_t used = 0;
  int dropped_from = kLastRank + 1;  // the first rank that does not fit
  for (int rank = 0; rank <= kLastRank; ++rank) {
    for (std::size_t i = 0; i < kTopColumns.size(); ++i) {
      if (kTopColumns[i].rank != rank || widths[i] == 0) continue;
      const std::size_t least = i == kWhy ? std::min(widths[i], kWhyMin) : widths[i];
      const std::size_t added = least + (used > 0 ? kBetween : 0);
      // Why something does not serve is worth a part of its name.
      const std::size_t given = i == kWhy ? spare(kEngine) + spare(kName) : 0;
      if (rank > 0 && ((rank > dropped_from && i != kWhy) || used + added - given > columns)) {
        dropped_from = std::min(dropped_from, rank);
        continue;
      }
      kept[i] = true;
      used += added;
    }
  }
  const std::size_t free = columns > used ? columns - used : 0;
  const std::size_t over = used > columns ? used - columns : 0;
  const std::size_t name_cut = std::min(over, spare(kName));
  const std::size_t engine_cut = std::min(over - name_cut, spare(kEngine));
  const std::size_t why = std::min(widths[kWhy], std::min(widths[kWhy], kWhyMin) + free);
  for (Row& row : rows) {
    row[kEngine] = shortened(row[kEngine], widths[kEngine] - engine_cut);
    row[kName] = shortened(row[kName], widths[kName] - name_cut);
    row[kWhy] = shortened(row[kWhy], why);
    Row shown;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (kept[i]) shown.push_back(std::move(row[i]));
    }
    row = std::move(shown);
  }
  return rows;
}

Row replica_row(const json& replica) {
  const auto memory = reading::number(replica, "memory_bytes");
  const auto is = [&replica](const char* key) {
    const auto found = replica.find(key);
    return found != replica.end() && found->is_boolean() && found->get<bool>();
  };
  const char* const slowed = is("throttled") ? " (throttled)" : is("held") ? " (held)" : "";
  return {"  " + text_field(replica, "id"),
          text_field(replica, "state") + slowed,
          fmt::format("pid {}", integer_field(replica, "pid")),
          fmt::format("port {}", integer_field(replica, "port")),
          fmt::format("{} in flight", integer_field(replica, "in_flight")),
          memory && *memory > 0 ? fmt::format("{:.1f} MiB", *memory / (1024.0 * 1024.0)) : "-"};
}

// Rows of several engines name theirs.
bool have_engines(const json& services) {
  return std::any_of(services.begin(), services.end(),
                     [](const json& service) { return service.contains("engine"); });
}

void put_engine(Row& row, const std::string& engine) {
  row.insert(row.begin(), engine);
}

}  // namespace

std::string table_text(const std::vector<Row>& rows) {
  const std::vector<std::size_t> widths = widths_of(rows);
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += padded(row[i], widths[i] + 2);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string get_text(const json& services, bool wide) {
  Row head = {"NAME", "URL", "READY/WANT", "STATE", "REVISION"};
  const bool divided = std::any_of(services.begin(), services.end(), [](const json& service) {
    return integer_field(service, "percent", 100) < 100;
  });
  if (divided) head.emplace_back("TRAFFIC");
  const bool placed = wide && std::any_of(services.begin(), services.end(),
                                          [](const json& each) { return each.contains("places"); });
  if (placed) head.emplace_back("PLACES");
  if (wide) {
    head.insert(head.end(), {"STARTING", "DRAINING", "RESTARTS", "CONC stable/panic", "TARGET",
                             "RPS", "QUEUE", "p50/p99 ms", "LAST COLD", "WHY"});
  }
  const bool engines = have_engines(services);
  if (engines) put_engine(head, "ENGINE");
  std::vector<Row> rows = {head};
  std::vector<Row> replicas;
  for (const json& service : services) {
    Row row = {text_field(service, "name"), text_field(service, "url"), ready_of_wanted(service),
               state_text(service), text_field(service, "revision")};
    if (divided) row.push_back(percent_text(integer_field(service, "percent", 100)));
    if (placed) row.push_back(service.contains("places") ? shares_text(service) : "-");
    if (wide) {
      row.insert(row.end(),
                 {std::to_string(integer_field(service, "starting")),
                  std::to_string(integer_field(service, "draining")),
                  std::to_string(integer_field(service, "restarts")), concurrency(service),
                  target_text(service), rounded(reading::number(service, "rps")),
                  std::to_string(integer_field(service, "queued")), percentiles(service),
                  cold_text(service), why_text(service)});
      const auto own = service.find("replicas");
      if (own != service.end() && own->is_array()) {
        for (const json& replica : *own) {
          replicas.push_back(replica_row(replica));
        }
      }
    }
    if (engines) put_engine(row, text_field(service, "engine"));
    rows.push_back(std::move(row));
  }
  std::string text = table_text(rows);
  for (const json& service : services) {
    for (const std::string& line : not_ready_lines(service)) text += line + "\n";
  }
  return text + (replicas.empty() ? "" : "replicas\n" + table_text(replicas));
}

std::string revisions_text(const json& revisions, TimePoint now) {
  std::vector<Row> rows = {{"REVISION", "STATE", "REPLICAS", "TRAFFIC", "TAGS", "AGE"}};
  for (const json& revision : revisions) {
    std::string tags;
    for (const std::string& tag : reading::strings(revision, "tags"))
      tags += (tags.empty() ? "" : ", ") + printable(tag);
    const auto made = parse_rfc3339(text_field(revision, "created"));
    const std::string state = text_field(revision, "state");
    rows.push_back(
        {text_field(revision, "revision") + (reading::flag(revision, "latest") ? " (latest)" : ""),
         state == "given_up" ? std::string{kDidNotStart} : state,
         std::to_string(integer_field(revision, "ready")),
         percent_text(integer_field(revision, "percent")), tags.empty() ? "-" : tags,
         made ? age_text(now - *made) : "-"});
  }
  return table_text(rows);
}

std::vector<Row> top_rows(const json& services) {
  std::vector<Row> rows(1);
  for (const TopColumn& column : kTopColumns) rows.front().emplace_back(column.head);
  // An empty column is not shown.
  if (!have_engines(services)) rows.front().front().clear();
  for (const json& service : services) {
    rows.push_back({text_field(service, "engine"), text_field(service, "name"),
                    ready_of_wanted(service), concurrency(service), target_text(service),
                    rounded(reading::number(service, "rps")),
                    std::to_string(integer_field(service, "queued")), percentiles(service),
                    cold_text(service), state_text(service), why_text(service)});
  }
  return rows;
}

std::string top_text(std::vector<Row> rows, std::size_t columns) {
  return table_text(fitted(std::move(rows), columns));
}

std::string gaps_text(const json& gaps) {
  std::string text;
  for (const json& gap : gaps) {
    const std::string from = clock_text(text_field(gap, "from"));
    const std::string to = clock_text(text_field(gap, "to"));
    const std::string reason = text_field(gap, "reason");
    if (!gap.contains("from")) {
      text += fmt::format("decisions before {} are not kept: {}\n", to, reason);
      continue;
    }
    text += reading::flag(gap, "lasts")
                ? fmt::format("decisions since {} are not kept: {}\n", from, reason)
                : fmt::format("decisions from {} to {} were not kept: {}\n", from, to, reason);
  }
  return text;
}

std::string history_text(const json& decisions, const json& gaps) {
  if (decisions.empty()) {
    return gaps.empty() ? "nothing changed in that time\n" : gaps_text(gaps);
  }
  std::vector<Row> rows = {
      {"TIME", "REVISION", "READY", "WANTED", "GRANTED", "MODE", "BOUND BY", "WHY"}};
  for (const json& decision : decisions) {
    rows.push_back({clock_text(text_field(decision, "time")), text_field(decision, "revision"),
                    std::to_string(integer_field(decision, "ready")),
                    std::to_string(integer_field(decision, "bounded")),
                    std::to_string(integer_field(decision, "granted")),
                    text_field(decision, "mode"), text_field(decision, "bound_by"),
                    text_field(decision, "why")});
  }
  return table_text(rows) + gaps_text(gaps);
}

}  // namespace sluice::view
