#include "programs/sluice/commands/recorded_happenings.h"

#include "autoscaler/io/recording_json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

namespace sluice::commands {
namespace {

using nlohmann::json;

// A limit is known by a decision that comes at most so much later.
constexpr Duration kKnownLate = std::chrono::seconds{1};

// While a service is awake there is a line each second.
constexpr Duration kLinesApart = std::chrono::milliseconds{1500};

// A timer runs a little late, and a window that is a whole number of ticks long is over at one or
// at the next by how late. What falls due in this time before a tick that was recorded runs with
// it.
constexpr Duration kLateness = std::chrono::milliseconds{2};

// Most lines are of these; of them only the time is of use here.
bool is_observation(std::string_view line) {
  constexpr std::array kTypes{R"("type":"stat")", R"("type":"eval")", R"("type":"traffic")"};
  return std::any_of(kTypes.begin(), kTypes.end(), [line](const char* type) {
    return line.find(type) != std::string_view::npos;
  });
}

// Of the autoscaler's clock: of other evaluations a request or a change says when.
bool is_tick(std::string_view line) {
  return line.find(R"("trigger":"tick")") != std::string_view::npos;
}

std::optional<TimePoint> time_in(std::string_view line) {
  constexpr std::string_view kKey = R"("at_ns":)";
  const std::size_t at = line.find(kKey);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + kKey.size());
  std::int64_t ns = 0;
  const auto [stop, wrong] = std::from_chars(line.data(), line.data() + line.size(), ns);
  return wrong == std::errc{} ? std::optional{TimePoint{Duration{ns}}} : std::nullopt;
}

}  // namespace

Result<RecordedHappenings, Failure> RecordedHappenings::open(const std::string& path,
                                                             const RecordedService& service,
                                                             TimePoint begin, ScalingEdits edits) {
  auto lines = RecordingLines::open(path);
  if (!lines) return Failure{kExitConfig, lines.error().text()};
  std::string head;
  (void)lines->next(head);
  return RecordedHappenings{std::move(*lines), begin, service.scaling, std::move(edits)};
}

std::optional<simulation::Happening> RecordedHappenings::next() {
  std::string line;
  while (!ended_ && (ready_.empty() || ready_.front().at + kKnownLate > last_ - begin_)) {
    ended_ = lines_.next(line) != RecordingLines::Next::line;
    if (!ended_) take(line);
  }
  if (ready_.empty()) return std::nullopt;
  simulation::Happening first = std::move(ready_.front());
  ready_.pop_front();
  return first;
}

void RecordedHappenings::take(const std::string& line) {
  if (is_observation(line)) {
    const auto at = time_in(line);
    if (!at) return;
    if (is_tick(line)) add(simulation::Standstill{kLateness}, *at - kLateness);
    pass(*at);
    return;
  }
  json document;
  if (parse_recorded(line, true, document)) return;
  const auto read = autoscaler::read_recorded(document);
  if (read && read->input) take(*read->input);
}

// A stop of the engine began after the last line before it, and others may tell of its end first.
void RecordedHappenings::take(const autoscaler::RecordedInput& input) {
  const auto* const step = std::get_if<autoscaler::ClockStepInput>(&input);
  const bool told = step != nullptr && pause_ && step->at - pause_->to < kKnownLate;
  const TimePoint before = told ? pause_->from : last_;
  if (step != nullptr && step->by > Duration{0} && step->at > before) {
    add(simulation::Standstill{step->at - before}, before);
  }
  if (const auto at = autoscaler::time_of(input)) pass(*at);
  if (const auto* const spec = std::get_if<autoscaler::SpecInput>(&input)) {
    add_scaling(spec->scaling, spec->given.get());
  } else if (const auto* const bounds = std::get_if<autoscaler::BoundsInput>(&input)) {
    bounds_ = edits_.apply(*bounds);
  } else if (std::holds_alternative<autoscaler::WakeInput>(input)) {
    add(simulation::OrderToWake{}, last_);
  } else if (std::holds_alternative<autoscaler::SleepInput>(input)) {
    add(simulation::OrderToSleep{}, last_);
  } else if (const auto* const other = std::get_if<autoscaler::TakeOverInput>(&input)) {
    if (!(other->start.scaling == scaling_)) {
      add_scaling(other->start.scaling, other->start.given.get());
    }
  } else if (const auto* const granted = std::get_if<autoscaler::GrantedNote>(&input)) {
    const bool limits = !granted->shortage.empty();
    // It shows in a decision, and so was there before it.
    if (limits) add(simulation::Room{granted->granted}, last_ - kKnownLate);
    if (!limits && limited_) add(simulation::Room{}, last_);
    limited_ = limits;
  } else if (const auto* const replica = std::get_if<autoscaler::ReplicaNote>(&input)) {
    if (replica->event == autoscaler::ReplicaEvent::lost) add(simulation::LostReplica{}, last_);
  }
}

void RecordedHappenings::pass(TimePoint at) {
  if (at - last_ > kLinesApart) pause_ = {last_, at};
  last_ = std::max(last_, at);
  if (!bounds_) return;
  add(*bounds_, last_);
  bounds_.reset();
}

template <class What>
void RecordedHappenings::add(What what, TimePoint at) {
  const Duration since = std::max(at - begin_, Duration{0});
  const auto behind = std::upper_bound(
      ready_.begin(), ready_.end(), since,
      [](Duration time, const simulation::Happening& each) { return time < each.at; });
  ready_.insert(behind, {.at = since, .what = std::move(what)});
}

void RecordedHappenings::add_scaling(const autoscaler::ScalingSpec& scaling,
                                     const autoscaler::GivenScaling* given) {
  scaling_ = scaling;
  add(simulation::NewScaling{given != nullptr ? edits_.apply(scaling, *given) : scaling}, last_);
}

}  // namespace sluice::commands
