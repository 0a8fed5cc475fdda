#pragma once

#include "common/time/time_point.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace sluice::view {

/// One cold start as a sum: `cold start 63 ms = queue 0 + decide 1 + … + first byte 2`.
[[nodiscard]] std::string cold_start_text(const nlohmann::json& event);

/// Turns the events of an engine into plain lines, one per change, each with its reason
/// (ecosystem.md 6.1). Remembers only what it needs to see a change. Times are counted from the
/// first event that carries one.
///
/// Fields it reads beside those of protocols.md 5 and one-machine.md 7, all optional: `time` of any
/// event; cold_start `released` (requests); log `replica`, `text`; warning and error `message`,
/// `fix`; engine `event` ready, stopping or stopped, the last with `stopped` and `cut`.
class EventLines {
 public:
  /// The lines for `event`, each ended by a newline; empty when nothing changed.
  [[nodiscard]] std::string lines(const nlohmann::json& event);

 private:
  struct Seen {
    std::int64_t granted = 0;
    std::string mode = "stable";
    std::string state;
    std::int64_t queued = 0;
    bool bounded = false;  ///< fewer were granted than wanted
  };

  [[nodiscard]] std::string line(const nlohmann::json& event, const std::string& what,
                                 const std::string& why);
  [[nodiscard]] std::string decision(const nlohmann::json& event);
  [[nodiscard]] std::string replica(const nlohmann::json& event);
  [[nodiscard]] std::string service(const nlohmann::json& event);
  [[nodiscard]] std::string cold_start(const nlohmann::json& event);
  [[nodiscard]] std::string engine(const nlohmann::json& event);
  Seen& seen(const std::string& name);

  std::optional<TimePoint> first_;
  TimePoint last_;
  // At most kServicesMax: beyond it changes of further services are shown without comparison.
  std::map<std::string, Seen> seen_;
  Seen overflow_;
};

enum class PrintMode { plain, json };

/// Writes events as `up` prints them when standard output is no terminal, or with -o json.
class EventPrinter {
 public:
  using Write = std::function<void(std::string_view)>;

  EventPrinter(PrintMode mode, Write write);

  void on_event(const nlohmann::json& event);

 private:
  PrintMode mode_;
  Write write_;
  EventLines lines_;
};

}  // namespace sluice::view
