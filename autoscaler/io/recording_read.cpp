// How a recording is read. Its lines may have been cut, edited or made up: whatever a scaler could
// not have saved is refused here, since the cores rely on it.

#include "autoscaler/io/recording_fields.h"
#include "autoscaler/io/recording_json.h"
#include "common/json/read.h"
#include "common/scaling/setting_limits.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <utility>

namespace sluice::autoscaler {
namespace {

using nlohmann::json;

// Of times and durations: the difference of any two is one, too.
constexpr std::int64_t kInstantMax = std::numeric_limits<std::int64_t>::max() / 2;
constexpr std::int64_t kBucketMax = kInstantMax / 1'000'000'000;  // seconds
constexpr std::size_t kDelayEntriesMax = 100'000;
constexpr std::size_t kServiceTimesMax = 10'000;

// Reads members one by one; of the first that is missing or wrong there is a
// sentence, and the rest is not read.
class Reading {
 public:
  Reading(const json& object, std::string& wrong) : object_{object}, wrong_{wrong} {}

  template <class Value>
  void operator()(const char* key, Value& value) const {
    if (!wrong_.empty()) return;
    const auto found = object_.find(key);
    if (found == object_.end()) {
      wrong_ = std::string{key} + " is missing";
    } else if (!take(*found, value)) {
      wrong_ = std::string{key} + " is not what it should be";
    }
  }

 private:
  static bool take(const json& from, bool& value) {
    if (!from.is_boolean()) return false;
    value = from.get<bool>();
    return true;
  }

  static bool take(const json& from, double& value) {
    if (from.is_number()) {
      value = from.get<double>();
      return true;
    }
    constexpr double kEndless = std::numeric_limits<double>::infinity();
    if (from == "nan") {
      value = std::numeric_limits<double>::quiet_NaN();
    } else if (from == "inf" || from == "-inf") {
      value = from == "inf" ? kEndless : -kEndless;
    } else {
      return false;
    }
    return true;
  }

  static bool take_whole(const json& from, std::int64_t least, std::int64_t most,
                         std::int64_t& value) {
    if (!from.is_number_integer()) return false;
    if (from.is_number_unsigned() &&
        from.get<std::uint64_t>() > static_cast<std::uint64_t>(kInstantMax)) {
      return false;
    }
    value = from.get<std::int64_t>();
    return value >= least && value <= most;
  }

  static bool take(const json& from, std::int64_t& value) {
    return take_whole(from, 0, kBucketMax, value);
  }

  static bool take(const json& from, std::int32_t& value) {
    std::int64_t number = 0;
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    if (!take_whole(from, -kMost, kMost, number)) return false;
    value = static_cast<std::int32_t>(number);
    return true;
  }

  static bool take(const json& from, Duration& value) {
    std::int64_t number = 0;
    if (!take_whole(from, -kInstantMax, kInstantMax, number)) return false;
    value = Duration{number};
    return true;
  }

  static bool take(const json& from, TimePoint& value) {
    std::int64_t number = 0;
    if (!take_whole(from, 0, kInstantMax, number)) return false;
    value = TimePoint{Duration{number}};
    return true;
  }

  static bool take(const json& from, std::vector<double>& values) {
    if (!from.is_array()) return false;
    for (const json& each : from) {
      if (!take(each, values.emplace_back())) return false;
    }
    return true;
  }

  static bool take(const json& from, Aggregation& value) {
    value = from == "weighted" ? Aggregation::weighted : Aggregation::linear;
    return from == "weighted" || from == "linear";
  }

  static bool take(const json& from, ScalingMetric& value) {
    return take_named(from, std::array{ScalingMetric::concurrency, ScalingMetric::rps}, value);
  }

  static bool take(const json& from, Activity& value) {
    return take_named(from, std::array{Activity::inactive, Activity::activating, Activity::active},
                      value);
  }

  static bool take(const json& from, Trigger& value) {
    return take_named(from, std::array{Trigger::tick, Trigger::poke, Trigger::change}, value);
  }

  static bool take(const json& from, ReplicaEvent& value) {
    return take_named(from,
                      std::array{ReplicaEvent::started, ReplicaEvent::ready, ReplicaEvent::lost,
                                 ReplicaEvent::gone},
                      value);
  }

  template <class Named, std::size_t N>
  static bool take_named(const json& from, const std::array<Named, N>& all, Named& value) {
    for (const Named each : all) {
      if (from != name(each)) continue;
      value = each;
      return true;
    }
    return false;
  }

  template <class Value>
  static bool take(const json& from, std::optional<Value>& value) {
    value.reset();
    return from.is_null() || take(from, value.emplace());
  }

  const json& object_;
  std::string& wrong_;
};

void complain(std::string& wrong, std::string_view what) {
  if (wrong.empty()) wrong = what;
}

void read_scaling(const json& object, ScalingSpec& scaling, std::string& wrong) {
  if (!object.is_object()) return complain(wrong, "scaling is missing");
  each_setting(scaling, Reading{object, wrong});
  const DeciderSpec& decider = scaling.decider;
  for (const Duration window : {decider.stable_window, decider.panic_window}) {
    if (window < std::chrono::seconds{1} || window > kWindowMax) {
      complain(wrong, "a window is not from 1 s to 1 h");
    }
  }
  if (decider.scale_down_delay < Duration{0}) complain(wrong, "scale_down_delay_ns is below 0");
}

void read_window(const json& object, const char* key, SavedWindow& window, std::string& wrong) {
  const json& saved = reading::member(object, key);
  if (!saved.is_object()) return complain(wrong, std::string{key} + " is missing");
  each_of_window(window, Reading{saved, wrong});
  if (!wrong.empty()) return;
  using std::chrono::seconds;
  const bool fits = window.window >= seconds{1} && window.window <= kWindowMax &&
                    static_cast<std::int64_t>(window.values.size()) <=
                        (window.window + seconds{1} - Duration{1}) / seconds{1};
  const bool has_end = window.values.empty() || window.last.has_value();
  const bool rises = !window.first || (window.last && *window.first <= *window.last);
  if (!fits || !has_end || !rises) complain(wrong, std::string{key} + " is no window");
}

void read_delay(const json& saved, std::optional<SavedDelay>& delay, std::string& wrong) {
  if (saved.is_null()) return;
  delay.emplace();
  const auto slots = reading::whole(saved, "slots");
  const json& entries = reading::array(saved, "entries");
  if (!slots || *slots <= 0 || *slots > kBucketMax || entries.size() > kDelayEntriesMax) {
    return complain(wrong, "delay is not what it should be");
  }
  delay->slots = *slots;
  for (const json& each : entries) {
    const bool pair = each.is_array() && each.size() == 2 && each[0].is_number_integer() &&
                      each[1].is_number_integer() &&
                      std::abs(each[0].get<std::int64_t>() / 2) < kBucketMax;
    if (!pair) return complain(wrong, "delay is not what it should be");
    delay->entries.push_back({each[0].get<std::int64_t>(), each[1].get<std::int32_t>()});
  }
}

void read_state(const json& object, SavedScaler& state, std::string& wrong) {
  if (!object.is_object()) return complain(wrong, "handed is missing");
  each_of_state(state, Reading{object, wrong});
  each_window(state.collector, [&](const char* key, SavedWindow& window) {
    read_window(object, key, window, wrong);
  });
  const json& attention = reading::member(object, "attention");
  if (!attention.is_object()) return complain(wrong, "attention is missing");
  each_of_attention(state.attention, Reading{attention, wrong});
  read_delay(reading::member(object, "delay"), state.decider.delay, wrong);
}

// A value of the cluster's configuration as its map has it.
std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void read_given(const json& object, std::shared_ptr<const GivenScaling>& given,
                std::string& wrong) {
  if (!object.is_object()) return;
  GivenScaling made;
  StringMap config;
  const json& keys = reading::member(object, "config");
  if (keys.is_object()) {
    for (const auto& [key, value] : keys.items()) config[key] = text_of(value);
  }
  const auto parsed = parse_cluster_config(config);
  if (!parsed) return complain(wrong, "config: " + parsed.error().what);
  made.config = *parsed;
  const json& annotations = reading::member(object, "annotations");
  if (annotations.is_object()) {
    for (const auto& [key, value] : annotations.items()) made.annotations[key] = text_of(value);
  }
  made.container_concurrency = reading::whole(object, "container_concurrency").value_or(0);
  const std::string reached = reading::text(object, "reachability");
  made.reachability = reached == "unreachable" ? Reachability::unreachable
                      : reached == "reachable" ? Reachability::reachable
                                               : Reachability::unknown;
  given = std::make_shared<const GivenScaling>(std::move(made));
}

void read_start(const json& object, ScalerStart& start, std::string& wrong) {
  const Reading read{object, wrong};
  read("at_ns", start.at);
  read("replicas", start.replicas);
  if (start.replicas < 0) complain(wrong, "replicas is below 0");
  read_scaling(reading::member(object, "scaling"), start.scaling, wrong);
  read_given(reading::member(object, "given"), start.given, wrong);
  read_state(reading::member(object, "handed"), start.state, wrong);
}

RecordedInput read_stat(const json& line, std::string& wrong) {
  StatInput input{.stat = {}};
  const Reading read{line, wrong};
  read("at_ns", input.at);
  each_of_stat(input.stat, read);
  input.scraped = reading::text(line, "door") == "scrape";
  if (line.contains("newest_ns")) read("newest_ns", input.newest);
  return input;
}

RecordedInput read_eval(const json& line, std::string& wrong) {
  EvalInput input;
  const Reading read{line, wrong};
  read("at_ns", input.decided.time);
  read("trigger", input.inputs.trigger);
  read("ready", input.inputs.ready);
  if (input.inputs.ready < 0) complain(wrong, "ready is below 0");
  if (reading::text(line, "proxy_for_ns") == "always") {
    input.inputs.proxy_for = Duration::max();
  } else {
    read("proxy_for_ns", input.inputs.proxy_for);
  }
  read("probe_ok", input.inputs.probe_ok);
  read("activator_connected", input.inputs.activator_connected);
  return input;
}

RecordedInput read_spec(const json& line, std::string& wrong) {
  SpecInput input{.scaling = {}};
  Reading{line, wrong}("at_ns", input.at);
  read_scaling(reading::member(line, "scaling"), input.scaling, wrong);
  read_given(reading::member(line, "given"), input.given, wrong);
  return input;
}

// An older program may not have written the member.
void read_counted(const json& line, const std::string& key,
                  std::vector<std::pair<Duration, std::uint32_t>>& counted, std::string& wrong) {
  const json& list = reading::array(line, key);
  for (std::size_t i = 0; i < std::min(list.size(), kServiceTimesMax); ++i) {
    const json& each = list[i];
    const bool pair =
        each.is_array() && each.size() == 2 && each[0].is_number() && each[1].is_number_unsigned();
    if (!pair) return complain(wrong, key + " is not what it should be");
    const double ms = std::clamp(each[0].get<double>(), 0.0, 1e9);
    counted.emplace_back(from_seconds(ms / 1e3), each[1].get<std::uint32_t>());
  }
}

RecordedInput read_traffic(const json& line, std::string& wrong) {
  TrafficNote note;
  const Reading read{line, wrong};
  read("at_ns", note.at);
  read("arrivals", note.arrivals);
  read("held", note.held);
  read("in_flight", note.in_flight);
  read_counted(line, "service_ms", note.service, wrong);
  if (line.contains("service_total_ns")) read("service_total_ns", note.service_total);
  read_counted(line, "wait_ms", note.waited, wrong);
  const json& tenths = reading::array(line, "tenths");
  for (std::size_t i = 0; i < std::min(tenths.size(), note.tenths.size()); ++i) {
    if (!tenths[i].is_number_unsigned()) complain(wrong, "tenths is not what it should be");
    if (wrong.empty()) note.tenths[i] = tenths[i].get<std::uint32_t>();
  }
  return note;
}

RecordedInput read_replica(const json& line, std::string& wrong) {
  ReplicaNote note;
  const Reading read{line, wrong};
  read("at_ns", note.at);
  read("event", note.event);
  read("replicas", note.replicas);
  if (note.event == ReplicaEvent::ready) read("took_ns", note.took);
  return note;
}

RecordedInput read_cold_start(const json& line, std::string& wrong) {
  ColdStartNote note;
  Reading{line, wrong}("at_ns", note.at);
  const json& phases = reading::member(line, "phases");
  if (!phases.is_object()) {
    complain(wrong, "phases is missing");
    return note;
  }
  each_phase(note.took, Reading{phases, wrong});
  return note;
}

// Of those that have few members; nothing for a type that is not known.
std::optional<RecordedInput> read_small(std::string_view type, const json& line,
                                        std::string& wrong) {
  const Reading read{line, wrong};
  if (type == "bounds") {
    BoundsInput input;
    read("min", input.min);
    read("max", input.max);
    const std::int32_t min = input.min.value_or(0);
    const std::int32_t max = input.max.value_or(0);
    if (min < 0 || max < 0 || (max > 0 && min > max)) complain(wrong, "min and max are no bounds");
    return input;
  }
  if (type == "wake") {
    WakeInput input;
    read("at_ns", input.at);
    read("takes_over", input.takes_over);
    return input;
  }
  if (type == "sleep") {
    SleepInput input;
    read("at_ns", input.at);
    return input;
  }
  if (type == "clock_step") {
    ClockStepInput input;
    read("at_ns", input.at);
    read("by_ns", input.by);
    return input;
  }
  if (type == "granted") {
    GrantedNote note;
    read("at_ns", note.at);
    read("granted", note.granted);
    note.shortage = reading::text(line, "why");
    return note;
  }
  if (type == "take_over") {
    TakeOverInput input;
    read_start(line, input.start, wrong);
    return input;
  }
  return std::nullopt;
}

}  // namespace

Result<RecordingHead, Problem> read_recording_head(const json& document) {
  const std::string format = reading::text(document, "format");
  constexpr std::string_view kFamily = "sluice-recording/";
  if (!format.starts_with(kFamily)) return Problem{"this is not a recording of sluice record", ""};
  RecordingHead head{.version = reading::text(document, "version"), .of = {}, .start = {}};
  if (format != kRecordingFormat) {
    return Problem{"its format is " + format + ", which sluice " + head.version +
                       " wrote; this one reads " + std::string{kRecordingFormat},
                   "use a newer sluice"};
  }
  head.of = {.id = {reading::text(document, "namespace"), reading::text(document, "revision")},
             .service = reading::text(document, "service")};
  std::string wrong;
  read_start(document, head.start, wrong);
  if (!wrong.empty()) return Problem{wrong, ""};
  return head;
}

Result<RecordedLine, Problem> read_recorded(const json& document) {
  const std::string type = reading::text(document, "type");
  if (type.empty()) return Problem{"it has no type", ""};
  std::string wrong;
  RecordedLine line;
  if (type == "stat") {
    line.input = read_stat(document, wrong);
  } else if (type == "eval") {
    line.input = read_eval(document, wrong);
  } else if (type == "spec") {
    line.input = read_spec(document, wrong);
  } else if (type == "traffic") {
    line.input = read_traffic(document, wrong);
  } else if (type == "replica") {
    line.input = read_replica(document, wrong);
  } else if (type == "cold_start") {
    line.input = read_cold_start(document, wrong);
  } else {
    line.input = read_small(type, document, wrong);
  }
  if (!wrong.empty()) return Problem{type + ": " + wrong, ""};
  return line;
}

}  // namespace sluice::autoscaler
