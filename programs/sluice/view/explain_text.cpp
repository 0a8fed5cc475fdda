#include "programs/sluice/view/explain_text.h"

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
#include <cmath>

namespace sluice::view {
namespace {

using nlohmann::json;

constexpr std::size_t kLabelWidth = 17;
constexpr std::size_t kFormulaWidth = 35;
constexpr std::size_t kHeadWidth = 50;
constexpr double kBarWidth = 40;

const json& member(const json& object, const char* key, const json& missing) {
  const auto found = object.find(key);
  return found == object.end() ? missing : *found;
}

std::string clock_of(const std::string& time) {
  const auto at = parse_rfc3339(time);
  return at ? local::format_clock(*at) : time;
}

std::string plain(double value) {
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:g}", value);
}

std::string reason_row(const std::string& label, const std::string& formula, std::int64_t count,
                       const std::string& remark) {
  std::string row = padded("  " + label, kLabelWidth) + padded(formula + "  ", kFormulaWidth);
  row += padded(fmt::format("-> {}", count), remark.empty() ? 0 : 9) + remark;
  return row + "\n";
}

std::string window_row(const json& decision, const json& inputs, bool panic) {
  const auto value = reading::number(decision, panic ? "panic" : "stable");
  const auto window = reading::number(inputs, panic ? "panic_window_s" : "stable_window_s");
  std::string label = panic ? "panic " : "stable";
  if (window) {
    label += " (" + plain(*window) + " s)";
  }
  const bool rps = text_field(decision, "metric") == "rps";
  const std::string formula = value ? fmt::format("{} {} / {} per replica", one_decimal(value),
                                                  rps ? "requests/s" : "concurrent",
                                                  one_decimal(reading::number(decision, "target")))
                                    : "no data";
  const std::int64_t wanted = integer_field(decision, panic ? "wanted_panic" : "wanted_stable");
  std::string remark;
  if (panic) {
    const std::int64_t ready = integer_field(decision, "ready");
    const double threshold = reading::number(inputs, "panic_threshold").value_or(2);
    const bool breach = reading::flag(inputs, "breach");
    remark = fmt::format("{} / {} {} {}{}", wanted,
                         ready > 0 ? fmt::format("{} ready", ready) : "max(1, 0 ready)",
                         breach ? ">=" : "<", plain(threshold), breach ? ": panic" : "");
  }
  return reason_row(label, formula, wanted, remark);
}

// What the windows ask for, before every rule.
std::int64_t asked_for(const json& decision) {
  const bool panicking = text_field(decision, "mode") == "panic";
  return std::max(integer_field(decision, "wanted_stable"),
                  panicking ? integer_field(decision, "wanted_panic") : 0);
}

std::string limit_remark(const json& decision) {
  std::string rule = text_field(decision, "bound_by");
  const bool ruled = !rule.empty() && rule != "none";
  const bool by_hand = text_field(decision, "why").find("by hand") != std::string::npos;
  // Without data the last answer stands, and that was the person's.
  if (by_hand && (!ruled || rule == "no_data")) {
    return "by hand";
  }
  if (ruled) {
    std::replace(rule.begin(), rule.end(), '_', '-');
    return "by " + rule;
  }
  return integer_field(decision, "bounded") == asked_for(decision) ? "no rule changed it" : "";
}

std::string limits_row(const json& decision, const json& inputs) {
  std::string formula;
  if (const auto rate = reading::number(inputs, "max_scale_up_rate")) {
    formula = "at most " + plain(*rate) + "x up; ";
  }
  formula += "bounds " + bounds_text(inputs);
  return reason_row("limits", formula, integer_field(decision, "bounded"), limit_remark(decision));
}

// "may fall after 60 s without a breach, not before 14:04:12"
std::string fall_words(const json& decision, const json& inputs) {
  const std::string fall = text_field(inputs, "may_fall_at");
  if (fall.empty()) {
    return {};
  }
  const auto window = reading::number(inputs, "stable_window_s");
  const bool panic = text_field(decision, "mode") == "panic";
  std::string text = "may fall ";
  if (panic && window) {
    text += "after " + plain(*window) + " s without a breach, ";
  }
  return text + "not before " + clock_of(fall);
}

// "asked again when a replica of fast or slow ends or at 14:04:00"
std::string asked_again_words(const json& decision) {
  const json none = json::object();
  const json& asked = member(decision, "asked_again", none);
  const std::vector<std::string> places = reading::strings(asked, "replica_of");
  std::string names;
  for (std::size_t i = 0; i < places.size(); ++i) {
    names += (i == 0 ? "" : i + 1 < places.size() ? ", " : " or ") + printable(places[i]);
  }
  std::string text = names.empty() ? "" : "when a replica of " + names + " ends";
  if (const std::string at = text_field(asked, "at"); !at.empty()) {
    text += (text.empty() ? "at " : " or at ") + clock_of(at);
  }
  return text.empty() ? text : "asked again " + text;
}

std::string next_row(const json& decision, const json& inputs) {
  std::string text = fall_words(decision, inputs);
  const std::string asked = asked_again_words(decision);
  if (!asked.empty()) text += (text.empty() ? "" : "; ") + asked;
  return text.empty() ? text : padded("  next", kLabelWidth) + text + "\n";
}

// Where those that are granted are, and why not in the place that is liked most.
std::string placed_rows(const json& decision) {
  std::string text;
  const auto row = [&text](const std::string& label, const std::string& value) {
    if (!value.empty()) text += padded(label, kLabelWidth - 1) + " " + value + "\n";
  };
  const json none = json::object();
  row("  placed", shares_text(decision));
  const json& elsewhere = member(decision, "why_elsewhere", none);
  row("  why " + text_field(elsewhere, "place"), text_field(elsewhere, "why"));
  row("  waits", text_field(decision, "waits"));
  const json& move = member(decision, "moving", none);
  if (!move.empty()) {
    row("  moves", text_field(move, "from") + " -> " + text_field(move, "to") + ": " +
                       text_field(move, "state"));
  }
  row("  next start", text_field(decision, "first_place"));
  return text;
}

std::string awake_row(const json& keeps_awake) {
  if (!keeps_awake.is_array() || keeps_awake.empty()) {
    return {};
  }
  std::int64_t total = 0;
  std::string list;
  std::string client;
  for (const json& entry : keeps_awake) {
    const std::int64_t count = integer_field(entry, "count");
    total += count;
    const std::string from = text_field(entry, "client");
    list += list.empty() ? "" : ", ";
    list += from == client ? "" : from + " ";
    list += fmt::format("{} ({})", text_field(entry, "request"), count);
    client = from;
  }
  return fmt::format("  awake because  {} {} in the last minute: {}\n", total,
                     total == 1 ? "request" : "requests", list);
}

std::string not_ready_rows(const json& explained) {
  std::string rows;
  const json& all = reading::array(explained, "not_ready");
  const std::vector<std::string> lines = not_ready_lines(explained);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string state = text_field(all[i], "state");
    const char* const label = state == "restarting" ? "  restarts"
                              : state == "short"    ? "  short"
                                                    : "  not ready";
    rows += padded(label, kLabelWidth) + lines[i] + "\n";
  }
  return rows;
}

}  // namespace

std::string explain_text(const json& explained) {
  const json none = json::object();
  const json& inputs = member(explained, "inputs", none);
  const std::string name = text_field(explained, "service");
  if (parse_rfc3339(text_field(explained, "time")) == TimePoint{}) {
    return name + "  nothing was decided yet, revision " + text_field(explained, "revision") +
           ": " + text_field(explained, "why") + "\n" + placed_rows(explained) +
           not_ready_rows(explained) + next_row(explained, inputs);
  }
  const std::int64_t wanted = integer_field(explained, "bounded");
  std::string head =
      fmt::format("{}  {} {} wanted, {} granted, {} ready", name, wanted,
                  wanted == 1 ? "replica" : "replicas", integer_field(explained, "granted"),
                  integer_field(explained, "ready_now", integer_field(explained, "ready")));
  std::string text = padded(head, kHeadWidth) + "  " + clock_of(text_field(explained, "time")) +
                     ", revision " + text_field(explained, "revision");
  const std::string mode = text_field(explained, "mode");
  if (!mode.empty()) {
    text += ", " + mode + " mode";
    if (const auto lasting = reading::number(inputs, "mode_for_s")) {
      text += fmt::format(" for {:.0f} s", *lasting);
    }
  }
  text += "\n";
  text += window_row(explained, inputs, false) + window_row(explained, inputs, true);
  text += limits_row(explained, inputs);
  text += placed_rows(explained);
  const bool rows_tell_all = wanted > 0 && asked_for(explained) == wanted &&
                             integer_field(explained, "granted") >= wanted &&
                             text_field(explained, "bound_by") == "none";
  if (!rows_tell_all) {
    const std::string why = text_field(explained, "why");
    text += why.empty() ? "" : "  why            " + why + "\n";
  }
  text += not_ready_rows(explained);
  const std::string failure = text_field(explained, "last_failure");
  text += failure.empty() ? "" : "  last start     failed: " + failure + "\n";
  return text + next_row(explained, inputs) + awake_row(member(explained, "keeps_awake", none));
}

std::string awake_text(const json& explained) {
  const json none = json::array();
  const json& keeps_awake = member(explained, "keeps_awake", none);
  if (!keeps_awake.is_array() || keeps_awake.empty()) {
    return text_field(explained, "service") + " had no request in the last minute\n";
  }
  std::string text;
  for (const json& entry : keeps_awake) {
    text += fmt::format("{:>8}  {}  {}\n", integer_field(entry, "count"),
                        padded(text_field(entry, "client"), 15), text_field(entry, "request"));
  }
  return text;
}

std::string waterfall_text(const json& explained) {
  const json none;
  const json& cold = member(explained, "last_cold_start", none);
  if (!cold.is_object()) {
    return "no cold start of " + text_field(explained, "service") + " is on record\n";
  }
  constexpr std::array<const char*, 6> kNames = {"queue", "decide", "create",
                                                 "start", "ready",  "first_byte"};
  const double total = reading::number(cold, "total_ms").value_or(0);
  std::string text = fmt::format("{}  cold start {:.0f} ms", text_field(cold, "replica"), total);
  const std::string time = text_field(cold, "time");
  text += time.empty() ? "\n" : ", " + clock_of(time) + "\n";
  const json& phases = member(cold, "phases_ms", none);
  double begun = 0;
  for (const char* name : kNames) {
    const auto length = reading::number(phases, name);
    if (!length) {
      continue;
    }
    const double scale = total > 0 ? kBarWidth / total : 0;
    const auto before = static_cast<std::size_t>(std::clamp(begun * scale, 0.0, kBarWidth));
    const auto filled = static_cast<std::size_t>(std::clamp(*length * scale, 0.0, kBarWidth));
    std::string words(name);
    std::replace(words.begin(), words.end(), '_', ' ');
    std::string line = fmt::format("  {:<10} {:>7} ms  ", words, plain(*length)) +
                       std::string(before, ' ') +
                       std::string(std::max<std::size_t>(filled, 1), '#');
    text += line + "\n";
    begun += *length;
  }
  return text;
}

}  // namespace sluice::view
