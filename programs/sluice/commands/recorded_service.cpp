#include "programs/sluice/commands/recorded_service.h"

#include "autoscaler/io/recording_json.h"

#include <nlohmann/json.hpp>

#include "load/core/service_times.h"
#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <variant>

namespace sluice::commands {
namespace {

using nlohmann::json;

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
    if (const auto* const traffic = std::get_if<autoscaler::TrafficNote>(&*read->input)) {
      for (const auto& [longest, count] : traffic->service) service_[longest] += count;
    }
    if (const auto* const cold = std::get_if<autoscaler::ColdStartNote>(&*read->input)) {
      ++starts_[cold->took.create + cold->took.start + cold->took.ready];
    }
    return std::nullopt;
  }

  RecordedService finish() {
    found_.service_time = measured(service_);
    found_.start = measured(starts_);
    return std::move(found_);
  }

 private:
  using Counts = std::map<Duration, std::uint64_t>;

  std::optional<std::string> begin(const json& document) {
    auto head = autoscaler::read_recording_head(document);
    if (!head) return head.error().text();
    if (!head->start.given) return "it does not say what its settings were resolved from";
    found_.scaling = head->start.scaling;
    found_.given = *head->start.given;
    return std::nullopt;
  }

  static std::optional<simulation::Times> measured(const Counts& counts) {
    std::uint64_t all = 0;
    for (const auto& each : counts) all += each.second;
    if (all == 0) return std::nullopt;
    loadgen::ServiceTimes times;
    std::uint64_t sum = 0;
    for (const auto& [longest, count] : counts) {
      sum += count;
      times.add(static_cast<double>(sum) / static_cast<double>(all), longest);
    }
    return simulation::Times::measured(std::move(times));
  }

  bool begun_ = false;
  RecordedService found_;
  Counts service_;
  Counts starts_;
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
