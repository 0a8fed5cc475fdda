#pragma once

#include "activator/core/destinations.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sluice::activator::testing {

using Pods = std::vector<std::pair<std::string, bool>>;

inline constexpr TimePoint kStart{std::chrono::seconds{1'700'000'000}};
inline constexpr ProbeResult kPassed = ProbeResult::passed;
inline constexpr ProbeResult kSilent = ProbeResult::silent;
inline constexpr ProbeResult kMesh = ProbeResult::mesh_like;
inline constexpr ProbeResult kNotReady = ProbeResult::not_ready;

/// Destinations printed as text, with a network that answers as the test sets it. Changes read as
/// "+a" and "-a" for pods, "=ip/2" and "!ip" for the cluster IP with its backends.
class Network {
 public:
  explicit Network(const DestinationsSpec& spec = {}) : destinations(spec) {}

  std::string pods(const Pods& list) {
    DestinationChanges changes;
    destinations.set_pods(list, now, changes);
    return show(changes);
  }

  std::string pod(const std::string& dest, bool ready) { return pod(dest, PodWord{ready}); }

  std::string pod(const std::string& dest, const PodWord& word) {
    DestinationChanges changes;
    destinations.set_pod(dest, word, now, changes);
    return show(changes);
  }

  std::string gone(const std::string& dest) {
    DestinationChanges changes;
    destinations.remove_pod(dest, now, changes);
    return show(changes);
  }

  std::string cluster_ip(const std::string& dest) {
    DestinationChanges changes;
    destinations.set_cluster_ip(dest.empty() ? std::nullopt : std::optional<std::string>(dest), now,
                                changes);
    return show(changes);
  }

  /// Makes every probe that is due now, once; asked is who was probed.
  std::string round() {
    std::string text;
    asked.clear();
    std::vector<Probe> probes;
    while (const std::optional<Probe> probe = destinations.next_probe(now)) {
      probes.push_back(*probe);
    }
    for (const Probe& probe : probes) {
      asked += (asked.empty() ? "" : " ") + probe.dest;
      DestinationChanges changes;
      const auto answer = answers.find(probe.dest);
      destinations.probed(probe.number, answer == answers.end() ? kSilent : answer->second, now,
                          Duration{0}, changes);
      text += (text.empty() || changes.empty() ? "" : " ") + show(changes);
    }
    return text;
  }

  /// Rounds until `end`, each when it is due.
  std::string until(TimePoint end) {
    std::string text;
    while (destinations.next_due() && *destinations.next_due() <= end) {
      now = std::max(now, *destinations.next_due());
      const std::string changed = round();
      text += (text.empty() || changed.empty() ? "" : " ") + changed;
    }
    now = end;
    return text;
  }

  static std::string show(const DestinationChanges& changes) {
    std::string text;
    for (const DestinationChange& one : changes) {
      text += text.empty() ? "" : " ";
      switch (one.kind) {
        case DestinationChange::Kind::pod_usable:
          text += "+" + one.dest;
          break;
        case DestinationChange::Kind::pod_gone:
          text += "-" + one.dest;
          break;
        case DestinationChange::Kind::cluster_ip:
          text += "=" + one.dest + "/" + std::to_string(one.backends);
          break;
        case DestinationChange::Kind::cluster_gone:
          text += "!" + one.dest;
          break;
      }
    }
    return text;
  }

  Destinations destinations;
  std::map<std::string, ProbeResult> answers;
  std::string asked;
  TimePoint now = kStart;
};

}  // namespace sluice::activator::testing
