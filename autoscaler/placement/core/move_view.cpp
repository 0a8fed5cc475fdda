#include "autoscaler/placement/core/move_view.h"

#include <array>
#include <cstddef>

namespace sluice::placement {
namespace {

constexpr std::array<std::string_view, 4> kCauses{"full", "drain", "home", "hand"};
constexpr std::array<std::string_view, 11> kStates{"planned",  "reserved", "starting", "warming",
                                                   "shifting", "draining", "removing", "done",
                                                   "aborting", "aborted",  "stuck"};

std::string counted(std::int64_t count, std::string_view noun) {
  return std::to_string(count) + ' ' + std::string{noun} + (count == 1 ? "" : "s");
}

// "1.6 s"
std::string tenths(Duration took) {
  constexpr std::int64_t kTenth = 100;
  const std::int64_t rounded =
      (std::chrono::duration_cast<std::chrono::milliseconds>(took).count() + kTenth / 2) / kTenth;
  constexpr std::int64_t kTen = 10;
  return std::to_string(rounded / kTen) + '.' + std::to_string(rounded % kTen) + " s";
}

// " 3 (1.6 s)"
std::string number_and_time(std::int32_t count, const std::optional<Duration>& took) {
  return ' ' + std::to_string(count) + (took ? " (" + tenths(*took) + ')' : "");
}

std::string progress_of(const MoveRecord& record) {
  std::string text;
  if (record.started > 0) {
    text += ", started" + number_and_time(record.started, record.start_took);
  }
  if (!record.listed.empty()) {
    text += ", listed";
    for (std::size_t i = 0; i < record.listed.size(); ++i) {
      text += (i > 0 ? ", " : " ") + std::to_string(record.listed[i]);
    }
  }
  if (record.drained > 0) {
    text += ", drained" + number_and_time(record.drained, record.drain_took);
  }
  constexpr std::size_t kComma = 2;
  return text.empty() ? std::string{name(record.state)} : text.substr(kComma);
}

std::string reason_of(const MoveRecord& record) {
  if (record.why.empty()) return {};
  return (record.state == MoveState::stuck ? "; stuck: " : "; given up: ") + record.why;
}

}  // namespace

std::string_view name(MoveCause cause) {
  return kCauses.at(static_cast<std::size_t>(cause));
}

std::string_view name(MoveState state) {
  return kStates.at(static_cast<std::size_t>(state));
}

std::string line(const MoveRecord& record) {
  if (record.asleep) return record.service + "  sleeps: its next start is at " + record.to;
  std::string text = record.service + "  " + counted(record.replicas, "replica") + ' ' +
                     record.from + " -> " + record.to + ": " + progress_of(record) + "; " +
                     counted(record.cut, "request") + " cut";
  return text + reason_of(record);
}

std::string drain_line(const MoveRecord& record) {
  return record.from + "  " + record.service + ' ' + std::to_string(record.replicas) + " -> " +
         record.to + ": " + progress_of(record) + reason_of(record);
}

}  // namespace sluice::placement
