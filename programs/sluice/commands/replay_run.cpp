#include "programs/sluice/commands/replay_run.h"

#include "common/base/version.h"
#include "common/json/read.h"

#include "programs/sluice/commands/recording_file.h"
#include <algorithm>
#include <utility>

namespace sluice::commands {
namespace {

using autoscaler::DecisionRecord;
using nlohmann::json;

// What a recording says of the time between two evaluations, which are two seconds apart.
constexpr Duration kStepMax = std::chrono::seconds{10};

// Numbers that are equal and written otherwise are equal; what JSON has no number for is text.
bool same(const json& a, const json& b) {
  return a == b || a.dump() == b.dump();
}

// `all_keys`: a key that was not recorded is a difference, too.
std::vector<FieldDifference> differences(const json& recorded, const json& decided, bool all_keys,
                                         const std::string& of = {}) {
  std::vector<FieldDifference> all;
  for (const auto& [key, here] : decided.items()) {
    if (!all_keys && !recorded.contains(key)) continue;
    const json& there = reading::member(recorded, key);
    if (here.is_object() && there.is_object()) {
      auto within = differences(there, here, all_keys, of + key + ".");
      std::move(within.begin(), within.end(), std::back_inserter(all));
    } else if (!same(there, here)) {
      all.push_back({of + key, there, here});
    }
  }
  return all;
}

TimelineSide side_of(const json& decision) {
  return {.want = reading::integer32(decision, "bounded", 0),
          .mode = reading::text(decision, "mode"),
          .bound_by = reading::text(decision, "bound_by")};
}

TimelineSide side_of(const DecisionRecord& decided) {
  return {.want = decided.bounded,
          .mode = std::string{name(decided.mode)},
          .bound_by = std::string{name(decided.bound_by)}};
}

std::int64_t whole_seconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

}  // namespace

ReplayRun::ReplayRun(ScalingEdits edits, Watcher watcher)
    : edits_{std::move(edits)}, watcher_{std::move(watcher)} {}

std::optional<std::string> ReplayRun::begin(const json& document) {
  auto head = autoscaler::read_recording_head(document);
  if (!head) return head.error().text();
  head_ = std::move(*head);
  autoscaler::ScalingChange change;
  if (!edits_.empty()) {
    if (!head_.start.given) {
      return "it does not say what its settings were resolved from: no others can be set";
    }
    if (const auto problem = edits_.problem_with(*head_.start.given)) {
      return wrong_settings_.emplace(problem->text());
    }
    change = [this](const autoscaler::ScalingSpec& scaling, const autoscaler::GivenScaling* given) {
      return given != nullptr ? edits_.apply(scaling, *given) : scaling;
    };
  }
  replay_.emplace(head_.start, head_.of.id.name, std::move(change));
  return std::nullopt;
}

std::optional<std::string> ReplayRun::take(const std::string& line) {
  ++lines_;
  json document;
  if (auto wrong = parse_recorded(line, begun(), document)) return wrong;
  if (!begun()) return begin(document);
  auto read = autoscaler::read_recorded(document);
  if (!read) return read.error().text();
  if (!read->input) {
    ++passed_over_;
    return std::nullopt;
  }
  autoscaler::RecordedInput& input = *read->input;
  if (auto* const bounds = std::get_if<autoscaler::BoundsInput>(&input)) {
    *bounds = edits_.apply(*bounds);
  }
  count(input);
  if (const auto decided = replay_->feed(input)) {
    ++decisions_;
    if (edits_.empty()) compare(document, *decided);
    follow(document, *decided);
  }
  return std::nullopt;
}

void ReplayRun::compare(const json& recorded, const DecisionRecord& decided) {
  const json here = autoscaler::recorded_decision_json(decided, head_.of);
  // Another version may have had fewer keys.
  auto fields = differences(recorded, here, head_.version == kVersion);
  if (fields.empty()) return;
  ++differing_;
  if (first_) return;
  first_ = DecisionDifference{
      .line = lines_, .number = decisions_, .at = decided.time, .fields = std::move(fields)};
}

void ReplayRun::follow(const json& recorded, const DecisionRecord& decided) {
  TimelineRow row{.at = decided.time,
                  .ready = decided.ready,
                  .stable = decided.stable,
                  .panic = decided.panic,
                  .recorded = side_of(recorded),
                  .decided = side_of(decided)};
  if (before_) {
    const Duration step = std::clamp(row.at - before_->at, Duration{0}, kStepMax);
    recorded_.replica_seconds += before_->recorded.want * to_seconds(step);
    decided_.replica_seconds += before_->decided.want * to_seconds(step);
    evaluated_ += step;
    const double room = row.ready * reading::number(recorded, "total").value_or(decided.total);
    if (row.ready > 0 && row.panic >= room) evaluated_full_ += step;
  }
  recorded_.most = std::max(recorded_.most, row.recorded.want);
  decided_.most = std::max(decided_.most, row.decided.want);
  if (watcher_) watcher_(row);
  before_ = std::move(row);
}

void ReplayRun::count(const autoscaler::RecordedInput& input) {
  const auto* const traffic = std::get_if<autoscaler::TrafficNote>(&input);
  if (traffic == nullptr) return;
  ++seconds_;
  if (traffic->held > 0) ++seconds_held_;
}

std::int64_t ReplayRun::observed_s() const {
  return seconds_ > 0 ? seconds_ : whole_seconds(evaluated_);
}

std::int64_t ReplayRun::saturated_s() const {
  return seconds_ > 0 ? seconds_held_ : whole_seconds(evaluated_full_);
}

}  // namespace sluice::commands
