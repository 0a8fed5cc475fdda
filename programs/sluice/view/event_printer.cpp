#include "programs/sluice/view/event_printer.h"

#include "common/json/read.h"
#include "common/json/write.h"
#include "common/values/rfc3339.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "platform/process/time_text.h"
#include "programs/sluice/view/fields.h"
#include <array>
#include <utility>

namespace sluice::view {
namespace {

using nlohmann::json;

constexpr std::size_t kServicesMax = 1000;
constexpr std::size_t kWhatWidth = 46;
constexpr std::size_t kErrorLines = 5;

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kPhases = {
    {{"queue", "queue"},
     {"decide", "decide"},
     {"create", "create"},
     {"start", "start"},
     {"ready", "ready"},
     {"first_byte", "first byte"}}};

std::string offset_text(double seconds) {
  const std::string number = seconds < 10    ? fmt::format("{:.3f}", seconds)
                             : seconds < 100 ? fmt::format("{:.1f}", seconds)
                                             : fmt::format("{:.0f}", seconds);
  return fmt::format("+{:<5} s  ", number);
}

std::string because(const std::string& why) {
  return why.empty() ? "" : "why: " + why;
}

std::string end_of(const json& event) {
  const std::string signal = text_field(event, "signal");
  if (!signal.empty()) {
    return "was ended by " + signal;
  }
  if (const auto number = reading::number(event, "signal")) {
    return fmt::format("was ended by signal {:.0f}", *number);
  }
  if (const auto code = reading::number(event, "exit_code")) {
    return fmt::format("exited with status {:.0f}", *code);
  }
  return "exited";
}

}  // namespace

std::string cold_start_text(const json& event) {
  std::string text = fmt::format("cold start {} ms", rounded(reading::number(event, "total_ms")));
  const auto phases = event.find("phases_ms");
  if (phases == event.end()) {
    return text;
  }
  std::string_view joint = " = ";
  for (const auto& [key, name] : kPhases) {
    if (const auto value = reading::number(*phases, key)) {
      text += fmt::format("{}{} {:.0f}", joint, name, *value);
      joint = " + ";
    }
  }
  return text;
}

EventLines::Seen& EventLines::seen(const std::string& name) {
  if (seen_.size() >= kServicesMax && !seen_.contains(name)) {
    overflow_ = {};
    return overflow_;
  }
  return seen_[name];
}

std::string EventLines::line(const json& event, const std::string& what, const std::string& why) {
  if (const auto at = parse_rfc3339(text_field(event, "time"))) {
    first_ = first_.value_or(*at);
    last_ = *at;
  }
  const double offset = first_ ? to_seconds(last_ - *first_) : 0.0;
  std::string text = offset_text(offset);
  const std::string name = text_field(event, event.contains("service") ? "service" : "name");
  // With one service its name would only repeat itself.
  if (seen_.size() > 1 && text_field(event, "type") != "engine" && !name.empty()) {
    text += name + ": ";
  }
  text += why.empty() ? what : padded(what, kWhatWidth) + "  " + why;
  return text + "\n";
}

std::string EventLines::lines(const json& event) {
  if (!event.is_object()) {
    return {};
  }
  const std::string type = text_field(event, "type");
  if (!first_) {
    first_ = parse_rfc3339(text_field(event, "time"));
    last_ = first_.value_or(TimePoint{});
  }
  if (type == "decision") {
    return decision(event);
  }
  if (type == "replica") {
    return replica(event);
  }
  if (type == "service") {
    return service(event);
  }
  if (type == "cold_start") {
    return cold_start(event);
  }
  if (type == "engine") {
    return engine(event);
  }
  if (type == "log") {
    return text_field(event, "replica") + " | " + text_field(event, "text") + "\n";
  }
  if (type == "warning" || type == "error") {
    const std::string fix = text_field(event, "fix");
    return line(event, type + ": " + text_field(event, "message") + (fix.empty() ? "" : "; " + fix),
                "");
  }
  return {};
}

std::string EventLines::decision(const json& event) {
  Seen& before = seen(text_field(event, "service"));
  const std::string mode = text_field(event, "mode");
  const std::int64_t granted =
      integer_field(event, "granted", integer_field(event, "bounded", before.granted));
  const std::int64_t wanted = integer_field(event, "bounded", granted);
  const bool panic_changed = !mode.empty() && mode != before.mode;
  const bool bounded = wanted > granted;
  const bool refused = bounded && !before.bounded;
  const bool count_changed = granted >= 0 && granted != before.granted;
  const std::string why = because(text_field(event, "why"));
  std::string what;
  if (panic_changed) {
    what = mode == "panic" ? "PANIC on: panic " + one_decimal(reading::number(event, "panic")) +
                                 ", target " + target_text(event)
                           : "PANIC off";
  }
  if (count_changed) {
    what += fmt::format("{}{} -> {} {}", what.empty() ? "" : "; ", before.granted, granted,
                        granted == 1 ? "replica" : "replicas");
    if (bounded) {
      what += fmt::format(" of {} wanted", wanted);
    }
  } else if (refused) {
    what += fmt::format("{}{} of {} wanted {} may run", what.empty() ? "" : "; ", granted, wanted,
                        wanted == 1 ? "replica" : "replicas");
  }
  before.bounded = bounded;
  if (panic_changed) {
    before.mode = mode;
  }
  if (count_changed) {
    before.granted = granted;
  }
  return what.empty() ? "" : line(event, what, why);
}

std::string EventLines::replica(const json& event) {
  (void)seen(text_field(event, "service"));
  const std::string id = text_field(event, "id");
  const std::string state = text_field(event, "state");
  const std::int64_t pid = integer_field(event, "pid");
  std::string why = because(text_field(event, "why"));
  if (const auto throttled = event.find("throttled");
      throttled != event.end() && throttled->is_boolean()) {
    return line(event, id + (throttled->get<bool>() ? " throttled" : " runs freely again"), why);
  }
  if (state != "exited") {
    const bool tells_pid = state == "ready" && pid > 0;
    return line(event, id + " " + state + (tells_pid ? fmt::format(", pid {}", pid) : ""), why);
  }
  // How it ended stands in its cause, where there is one.
  const bool early = reading::flag(event, "before_ready");
  std::string what = id + (why.empty() ? " " + end_of(event) + (early ? " before it was ready" : "")
                           : early     ? " did not start"
                                       : " ended");
  if (const auto retry = reading::number(event, "retry_in_ms")) {
    what += fmt::format("; next try in {:.1f} s", *retry / 1000);
  }
  std::string text = line(event, what, why);
  const auto tail = event.find("stderr_tail");
  if (tail != event.end() && tail->is_array()) {
    const std::size_t from = tail->size() > kErrorLines ? tail->size() - kErrorLines : 0;
    for (std::size_t i = from; i < tail->size(); ++i) {
      if ((*tail)[i].is_string()) {
        text += "  " + id + " | " + printable((*tail)[i].get_ref<const std::string&>()) + "\n";
      }
    }
  }
  return text;
}

std::string EventLines::service(const json& event) {
  const std::string name = text_field(event, event.contains("service") ? "service" : "name");
  Seen& before = seen(name);
  const std::string state = text_field(event, "state");
  const std::int64_t queued = integer_field(event, "queued", before.queued);
  std::string text;
  if (before.queued == 0 && queued > 0 && integer_field(event, "ready") == 0) {
    text += line(event, fmt::format("first request held (queue {})", queued), "why: zero replicas");
  }
  before.queued = queued;
  const std::string change = text_field(event, "event");
  const std::string why = because(text_field(event, "why"));
  if (change == "added" || change == "changed" || change == "removed") {
    // line() itself names the service when there are several; the scaling's why is not this one's.
    text += line(event, (seen_.size() > 1 ? "" : "service " + name + " ") + change, "");
  }
  // Replicas that start, drain and become ready are shown one by one.
  const bool telling = state == "asleep" || state == "failing" || state == "paused";
  if (telling && state != before.state && !before.state.empty()) {
    text += line(event, state, why);
  }
  if (!state.empty()) {
    before.state = state;
  }
  return text;
}

std::string EventLines::cold_start(const json& event) {
  (void)seen(text_field(event, "service"));
  const auto released = reading::number(event, "released");
  const std::string what = released ? fmt::format("ready, {:.0f} held {} released", *released,
                                                  *released == 1 ? "request" : "requests")
                                    : text_field(event, "replica") + " answered its first request";
  return line(event, what, cold_start_text(event));
}

std::string EventLines::engine(const json& event) {
  const std::string change = text_field(event, "event");
  if (change == "stopped") {
    return fmt::format("stopped {} {}, {} {} cut\n", integer_field(event, "stopped"),
                       integer_field(event, "stopped") == 1 ? "replica" : "replicas",
                       integer_field(event, "cut"),
                       integer_field(event, "cut") == 1 ? "request" : "requests");
  }
  if (change == "settings") {
    std::string keys;
    for (const json& key : reading::array(event, "keys")) {
      if (key.is_string()) keys += (keys.empty() ? "" : ", ") + printable(key.get<std::string>());
    }
    return line(event, "settings taken over: " + keys, "");
  }
  // The banner has said that it is ready.
  return change == "ready" || change.empty() ? "" : line(event, "engine " + change, "");
}

EventPrinter::EventPrinter(PrintMode mode, Write write) : mode_(mode), write_(std::move(write)) {}

void EventPrinter::on_event(const json& event) {
  const std::string text = mode_ == PrintMode::json ? json_line(event) + "\n" : lines_.lines(event);
  if (!text.empty()) {
    write_(text);
  }
}

}  // namespace sluice::view
