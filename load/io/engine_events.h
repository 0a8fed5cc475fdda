#pragma once

#include "load/core/replica_track.h"
#include "load/core/target.h"
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace sluice::loadgen {

/// Takes server-sent events apart: bytes in, (event, data) out. An event longer than 1 MiB is
/// dropped.
class EventLines {
 public:
  static constexpr std::size_t kEventBytesMax = 1U << 20U;

  explicit EventLines(std::function<void(std::string_view event, std::string_view data)> sink)
      : sink_{std::move(sink)} {}

  void feed(std::string_view bytes);

 private:
  void take_line();

  std::function<void(std::string_view, std::string_view)> sink_;
  std::string line_;
  std::string event_;
  std::string data_;
  bool too_long_ = false;
};

/// Reads the answer to GET /services: joins `track` to the service that `target` belongs to, with
/// the replicas that are ready and the mode. False if there is none, or the text is not that
/// answer.
[[nodiscard]] bool join_service(std::string_view json, const Target& target, ReplicaTrack& track);

/// The same of the answer to GET /services/NAMESPACE/NAME, whatever the target.
[[nodiscard]] bool join_status(std::string_view json, ReplicaTrack& track);

/// Puts one event of the stream on those of `tracks` that are of its service; true if one was.
bool apply_event(std::string_view event, std::string_view json, Duration at,
                 std::span<ReplicaTrack> tracks);

}  // namespace sluice::loadgen
