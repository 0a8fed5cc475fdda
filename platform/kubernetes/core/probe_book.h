#pragma once

#include "common/base/ids.h"
#include "common/time/time_point.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice::autoscaler {

/// Which activators have answered on the port of which scaler. Traffic is sent to those only: an
/// activator opens a port when its own watch reports it, which may be later than ours. An answer
/// counts as long as the activator exists and is ready, and the port stays. An activator that
/// already takes traffic when a scaler is first reconciled counts until its first answer: our start
/// is no reason to remove a service from its callers.
class ProbeBook {
 public:
  static constexpr Duration kWaitLeast = std::chrono::milliseconds{100};
  static constexpr Duration kWaitMost = std::chrono::seconds{5};

  struct Target {
    RevisionId id;
    std::uint16_t port = 0;
    std::string address;  ///< IP

    friend auto operator<=>(const Target&, const Target&) = default;
  };

  /// `standing`: addresses that take its traffic on that port.
  void set_port(const RevisionId& id, std::uint16_t port, TimePoint now,
                const std::set<std::string>& standing = {});
  void forget(const RevisionId& id);

  /// All that are ready. Returns whether that is news.
  bool set_activators(std::set<std::string> addresses, TimePoint now);

  /// To be probed now; each is on its way until answered().
  [[nodiscard]] std::vector<Target> take(TimePoint now, std::size_t most);

  /// True: it counts from now on, or does no longer.
  bool answered(const Target& target, bool ok, TimePoint now);

  [[nodiscard]] std::optional<TimePoint> next_due() const;

  /// In order.
  [[nodiscard]] std::vector<std::string> proven(const RevisionId& id) const;

 private:
  struct Line {
    bool proven = false;
    int failures = 0;
  };

  void open(const Target& target, TimePoint now, bool proven = false);

  std::set<std::string> activators_;
  std::map<RevisionId, std::uint16_t> ports_;
  std::map<Target, Line> lines_;
  std::set<std::pair<TimePoint, Target>> due_;
};

}  // namespace sluice::autoscaler
