#include "programs/sluice/commands/recorded_service.h"

#include "autoscaler/io/recording_json.h"
#include "common/json/read.h"

#include <nlohmann/json.hpp>

#include "load/core/service_times.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <variant>

namespace sluice::commands {
namespace {

using nlohmann::json;

// Waits are recorded in buckets as wide as an eighth to a ninth of their end: half of one is a
// share of that end of about so much. The middle of a bucket is nearer to what they were than its
// end.
constexpr int kHalfBuckets = 17;

// How often something took so long. Times are kept to three digits: however many there are, the
// memory is bounded.
class Counts {
 public:
  void add(Duration took, std::uint64_t count) {
    const double ns = static_cast<double>(std::max<std::int64_t>(1, took.count()));
    const double digit = std::pow(10, std::max(0.0, std::floor(std::log10(ns)) - 2));
    counts_[Duration{static_cast<std::int64_t>(std::round(ns / digit) * digit)}] += count;
    all_ += count;
  }

  /// `total`: what they took together; absent: as their limits say.
  [[nodiscard]] std::optional<simulation::Times> times(std::optional<Duration> total) const {
    if (all_ == 0) return std::nullopt;
    loadgen::ServiceTimes times;
    std::uint64_t sum = 0;
    for (const auto& [longest, count] : counts_) {
      sum += count;
      times.add(static_cast<double>(sum) / static_cast<double>(all_), longest);
    }
    if (total) times.scale_to(*total / static_cast<std::int64_t>(all_));
    return simulation::Times::measured(std::move(times));
  }

 private:
  std::map<Duration, std::uint64_t> counts_;
  std::uint64_t all_ = 0;
};

// A number over time.
class Steps {
 public:
  Steps(TimePoint at, std::int32_t number) : since_{at}, now_{number}, most_{number} {}

  void set(TimePoint at, std::int32_t number) {
    end(at);
    now_ = number;
    most_ = std::max(most_, number);
  }

  void end(TimePoint at) {
    seconds_ += std::max(0.0, to_seconds(at - since_)) * now_;
    since_ = std::max(since_, at);
  }

  /// Its integral to the last call.
  [[nodiscard]] double seconds() const { return seconds_; }

  [[nodiscard]] std::int32_t most() const { return most_; }

 private:
  TimePoint since_;
  double seconds_ = 0;
  std::int32_t now_;
  std::int32_t most_;
};

// What is added up of a recording while it is read.
class Reader {
 public:
  std::optional<std::string> take(const std::string& line) {
    json document;
    if (auto wrong = parse_recorded(line, begun_, document)) return wrong;
    if (!std::exchange(begun_, true)) return begin(document);
    auto read = autoscaler::read_recorded(document);
    if (!read) return read.error().text();
    if (!read->input) return std::nullopt;
    if (const auto at = autoscaler::time_of(*read->input)) {
      found_.until = std::max(found_.until, *at);
    }
    document_ = &document;
    std::visit(*this, *read->input);
    return std::nullopt;
  }

  void operator()(const autoscaler::TrafficNote& note) {
    constexpr Duration kSecond = std::chrono::seconds{1};
    if (!found_.traffic_from) found_.traffic_from = note.at - kSecond;
    std::uint64_t ended = 0;
    for (const auto& [longest, count] : note.service) {
      service_.add(longest, count);
      ended += count;
    }
    totals_known_ = totals_known_ && (ended == 0 || note.service_total > Duration{0});
    service_total_ += note.service_total;
    found_.figures.waits_known = found_.figures.waits_known && document_->contains("wait_ms");
    for (const auto& [longest, count] : note.waited) {
      found_.figures.waits.record(longest - longest / kHalfBuckets, count);
      ended -= std::min<std::uint64_t>(ended, count);
    }
    found_.figures.waits.record(Duration{0}, ended);
  }

  void operator()(const autoscaler::ColdStartNote& note) {
    cold_starts_.add(note.took.create + note.took.start + note.took.ready, 1);
    ++found_.figures.cold_starts;
  }

  void operator()(const autoscaler::ReplicaNote& note) {
    noted_ = true;
    there_->set(note.at, note.replicas);
    if (note.event != autoscaler::ReplicaEvent::ready) return;
    starts_.add(note.took, 1);
    if (found_.first_starts.size() < kFirstStartsMax) found_.first_starts.push_back(note.took);
  }

  void operator()(const autoscaler::GrantedNote& note) { granted_->set(note.at, note.granted); }

  void operator()(const autoscaler::EvalInput& /*eval*/) {
    const bool panics = reading::text(*document_, "mode") == "panic";
    if (panics && !std::exchange(panics_, panics)) ++found_.figures.panics;
    panics_ = panics;
  }

  template <class Other>
  void operator()(const Other& /*input*/) {}

  RecordedService finish() {
    found_.service_time =
        service_.times(totals_known_ ? std::optional{service_total_} : std::nullopt);
    found_.start = starts_.times({});
    if (!found_.start) found_.start = cold_starts_.times({});
    if (there_) {
      // What was granted, of a program that noted no replicas.
      Steps& replicas = noted_ ? *there_ : *granted_;
      replicas.end(found_.until);
      found_.figures.replica_seconds = replicas.seconds();
      found_.figures.most_replicas = replicas.most();
    }
    return std::move(found_);
  }

 private:
  std::optional<std::string> begin(const json& document) {
    auto head = autoscaler::read_recording_head(document);
    if (!head) return head.error().text();
    if (!head->start.given) return "it does not say what its settings were resolved from";
    found_.revision = head->of.id;
    found_.first = head->start;
    found_.scaling = head->start.scaling;
    found_.given = *head->start.given;
    found_.until = head->start.at;
    there_.emplace(head->start.at, head->start.replicas);
    granted_.emplace(head->start.at, head->start.replicas);
    return std::nullopt;
  }

  bool begun_ = false;
  const json* document_ = nullptr;  // of the line that is taken
  RecordedService found_;
  Counts service_;
  Duration service_total_{0};
  bool totals_known_ = true;
  Counts cold_starts_;
  Counts starts_;
  std::optional<Steps> there_;
  std::optional<Steps> granted_;
  bool noted_ = false;  // replicas were
  bool panics_ = false;
};

}  // namespace

Result<RecordedService, Failure> read_recorded_service(const std::string& path) {
  auto lines = RecordingLines::open(path);
  if (!lines) return Failure{kExitConfig, lines.error().text()};
  Reader reader;
  std::vector<std::string> notes;
  const auto failed = read_recording(
      path, *lines, [&reader](const std::string& line) { return reader.take(line); }, notes);
  if (failed) return *failed;
  return reader.finish();
}

}  // namespace sluice::commands
