// How a recording is written; recording_read.cpp reads it.

#include "autoscaler/io/recording_json.h"

#include "autoscaler/core/recording/decision_fields.h"
#include "autoscaler/io/recording_fields.h"
#include "autoscaler/io/status_json.h"
#include "autoscaler/io/time_text.h"
#include "common/base/check.h"
#include "common/json/write.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <type_traits>
#include <utility>

namespace sluice::autoscaler {
namespace {

using nlohmann::json;

std::string_view name_of(Aggregation aggregation) {
  return aggregation == Aggregation::weighted ? "weighted" : "linear";
}

std::string_view name_of(Reachability reachability) {
  switch (reachability) {
    case Reachability::unknown:
      return "unknown";
    case Reachability::reachable:
      return "reachable";
    case Reachability::unreachable:
      return "unreachable";
  }
  return "";
}

template <class Name>
std::string_view name_of(Name named) {
  return name(named);
}

// JSON has no word for what is no number.
json value_of(double number) {
  if (std::isfinite(number)) return number;
  return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
}

json value_of(Duration duration) {
  return duration.count();
}

json value_of(TimePoint at) {
  return at.time_since_epoch().count();
}

json value_of(const std::vector<double>& numbers) {
  json list = json::array();
  for (const double number : numbers) list.push_back(value_of(number));
  return list;
}

template <class Value>
json value_of(const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    return name_of(value);
  } else {
    return value;
  }
}

template <class Value>
json value_of(const std::optional<Value>& value) {
  return value ? value_of(*value) : json{};
}

struct Writing {
  json& object;

  template <class Value>
  void operator()(const char* key, const Value& value) const {
    object[key] = value_of(value);
  }
};

json window_json(const SavedWindow& window) {
  json object = json::object();
  each_of_window(window, Writing{object});
  return object;
}

json state_json(const SavedScaler& state) {
  json object = json::object();
  each_of_state(state, Writing{object});
  each_window(state.collector, [&object](const char* key, const SavedWindow& window) {
    object[key] = window_json(window);
  });
  each_of_attention(state.attention, Writing{object["attention"] = json::object()});
  json& delay = object["delay"] = nullptr;
  if (!state.decider.delay) return object;
  delay = {{"slots", state.decider.delay->slots}, {"entries", json::array()}};
  for (const SavedDelay::Entry& entry : state.decider.delay->entries) {
    delay["entries"].push_back({entry.slot, entry.value});
  }
  return object;
}

json given_json(const std::shared_ptr<const GivenScaling>& given) {
  if (!given) return {};
  return {{"config", config_json(given->config)},
          {"annotations", given->annotations},
          {"container_concurrency", given->container_concurrency},
          {"reachability", name_of(given->reachability)}};
}

json scaling_json(const ScalingSpec& scaling) {
  json object = json::object();
  each_setting(scaling, Writing{object});
  return object;
}

void put_start(json& object, const ScalerStart& start) {
  object["at_ns"] = value_of(start.at);
  object["scaling"] = scaling_json(start.scaling);
  object["given"] = given_json(start.given);
  object["replicas"] = start.replicas;
  object["handed"] = state_json(start.state);
}

json line_of(const char* type, TimePoint at) {
  return {{"type", type}, {"at_ns", value_of(at)}};
}

json counted_json(const std::vector<std::pair<Duration, std::uint32_t>>& counted) {
  json list = json::array();
  for (const auto& [longest, count] : counted) {
    list.push_back({static_cast<double>(longest.count()) / 1e6, count});
  }
  return list;
}

struct LineOf {
  const About& of;

  json operator()(const StatInput& input) const {
    json line = line_of("stat", input.at);
    line["door"] = input.scraped ? "scrape" : "activator";
    if (input.newest) line["newest_ns"] = value_of(*input.newest);
    each_of_stat(input.stat, Writing{line});
    return line;
  }

  json operator()(const EvalInput& input) const {
    DecisionRecord decided = input.decided;
    decided.revision = of.id.name;
    json line = recorded_decision_json(decided, of);
    line["type"] = "eval";
    line["at_ns"] = value_of(input.decided.time);
    const bool always = input.inputs.proxy_for == Duration::max();
    line["proxy_for_ns"] = always ? json("always") : value_of(input.inputs.proxy_for);
    line["probe_ok"] = value_of(input.inputs.probe_ok);
    line["activator_connected"] = input.inputs.activator_connected;
    return line;
  }

  json operator()(const SpecInput& input) const {
    json line = line_of("spec", input.at);
    line["scaling"] = scaling_json(input.scaling);
    line["given"] = given_json(input.given);
    return line;
  }

  json operator()(const BoundsInput& input) const {
    return {{"type", "bounds"}, {"min", value_of(input.min)}, {"max", value_of(input.max)}};
  }

  json operator()(const WakeInput& input) const {
    json line = line_of("wake", input.at);
    line["takes_over"] = input.takes_over;
    return line;
  }

  json operator()(const SleepInput& input) const { return line_of("sleep", input.at); }

  json operator()(const ClockStepInput& input) const {
    json line = line_of("clock_step", input.at);
    line["by_ns"] = value_of(input.by);
    return line;
  }

  json operator()(const TakeOverInput& input) const {
    json line = json::object();
    line["type"] = "take_over";
    put_start(line, input.start);
    return line;
  }

  json operator()(const GrantedNote& note) const {
    json line = line_of("granted", note.at);
    line["granted"] = note.granted;
    line["why"] = note.shortage;
    return line;
  }

  json operator()(const TrafficNote& note) const {
    json line = line_of("traffic", note.at);
    line["arrivals"] = note.arrivals;
    line["held"] = note.held;
    line["in_flight"] = note.in_flight;
    line["service_ms"] = counted_json(note.service);
    line["service_total_ns"] = value_of(note.service_total);
    line["wait_ms"] = counted_json(note.waited);
    line["tenths"] = note.tenths;
    return line;
  }

  json operator()(const ReplicaNote& note) const {
    json line = line_of("replica", note.at);
    line["event"] = name(note.event);
    line["replicas"] = note.replicas;
    if (note.event == ReplicaEvent::ready) line["took_ns"] = value_of(note.took);
    return line;
  }

  json operator()(const ColdStartNote& note) const {
    json line = line_of("cold_start", note.at);
    line["total_ns"] = value_of(note.took.total());
    each_phase(note.took, Writing{line["phases"] = json::object()});
    return line;
  }
};

}  // namespace

json recorded_decision_json(const DecisionRecord& decided, const About& of) {
  json decision = explained_json(decided, of);
  each_reason(decided, Writing{decision["reasons"] = json::object()});
  return decision;
}

json recording_head_json(const RecordingHead& head) {
  json object{{"format", kRecordingFormat},    {"version", head.version},
              {"namespace", head.of.id.space}, {"service", head.of.service},
              {"revision", head.of.id.name},   {"from", format_time(head.start.at)}};
  put_start(object, head.start);
  return object;
}

json recorded_json(const RecordedInput& input, const About& of) {
  return std::visit(LineOf{of}, input);
}

RecordingText::RecordingText(std::vector<RecordedStretch> stretches, About of, std::string version,
                             TimePoint since)
    : stretches_{std::move(stretches)}, of_{std::move(of)}, version_{std::move(version)} {
  CHECK(!stretches_.empty());
  // The last whose beginning is not after it has the state from which it is reached.
  for (std::size_t next = 1; next < stretches_.size(); ++next) {
    if (stretches_[next].start.at <= since) at_ = next;
  }
  reader_.emplace(stretches_[at_].code);
  start_ = stretches_[at_].start;
  if (start_->at < since) skip_.emplace(Skip{since, start_->at, Replay{*start_, of_.id.name}});
}

std::optional<RecordedInput> RecordingText::take() {
  if (ahead_) return std::exchange(ahead_, std::nullopt);
  while (true) {
    if (auto input = reader_->next()) return input;
    if (at_ + 1 == stretches_.size()) return std::nullopt;
    const RecordedStretch& next = stretches_[++at_];
    reader_.emplace(next.code);
    if (!next.joins) return TakeOverInput{next.start};
  }
}

// Replayed up to there. A stat may be older than what came before it, so that an evaluation says
// what time it is.
void RecordingText::skip_on() {
  constexpr int kInputs = 10;  // of a call: some 50 us
  for (int i = 0; i < kInputs; ++i) {
    auto input = take();
    const auto* const eval = input ? std::get_if<EvalInput>(&*input) : nullptr;
    if (eval != nullptr) skip_->reached = eval->decided.time;
    if (!input || skip_->reached >= skip_->since) {
      start_ = skip_->replay.start(input ? skip_->since : skip_->reached);
      ahead_ = std::move(input);
      skip_.reset();
      return;
    }
    (void)skip_->replay.feed(*input);
  }
}

bool RecordingText::next(std::string& text) {
  if (skip_) {
    skip_on();
    return true;
  }
  if (start_) {
    text += json_line(recording_head_json(
        {.version = version_, .of = of_, .start = *std::exchange(start_, std::nullopt)}));
  } else {
    const auto input = take();
    if (!input) return false;
    text += json_line(recorded_json(*input, of_));
  }
  text += '\n';
  return true;
}

}  // namespace sluice::autoscaler
