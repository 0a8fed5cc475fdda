#pragma once

#include "common/base/ids.h"
#include "common/messages/activator_stream.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::simulation {

/// Watches what autoscaler and activators agree on, and names the first rule that is broken. It is
/// given what happens, and does not use the decisions of the cores.
class ScaleWatch {
 public:
  /// From a request that waits at an activator with a sound stream until a pod is started: a second
  /// until the next batch at worst, both ways through late messages, and a file seen late.
  static constexpr Duration kWakeMax = std::chrono::seconds{6};

  /// The same where batches may be lost one after the other: the WebSocket form.
  static constexpr Duration kWakeMaxUnsure = std::chrono::seconds{40};

  /// A file seen late, and probes that fail by chance: by then a pod is known.
  static constexpr Duration kKnownMax = std::chrono::seconds{8};

  /// How long a known pod may be out of the list after its probes failed.
  static constexpr Duration kServeMax = std::chrono::seconds{4};

  /// An activator without a message for this long delays no removal (protocols.md 3, rule 5).
  static constexpr Duration kSilence = std::chrono::seconds{5};

  explicit ScaleWatch(Duration wake_max) : wake_max_(wake_max) {}

  /// The autoscaler in office gave a revision this version: it never falls, whichever autoscaler is
  /// in office.
  void decided(const RevisionId& revision, std::uint64_t version);

  /// An activator puts a state in force: of each revision each is newer than the one before.
  void in_force(std::string_view activator, const RevisionId& revision, std::uint64_t version);

  /// The number of pods wanted goes from `before` to `after`; zero needs an activator to report who
  /// waits (protocols.md 3, rule 7).
  void scaled(const RevisionId& revision, std::int32_t before, std::int32_t after,
              std::size_t activators);

  /// One who may choose the pod that is about to be stopped.
  struct Chooser {
    std::string activator;
    std::optional<Duration> heard;   ///< how long ago, by the autoscaler's clock; absent: not yet
    bool before_autoscaler = false;  ///< it was there before this autoscaler was
    bool avoids = false;             ///< new requests do not go there any more
  };

  /// A pod may be stopped from now on. `age` of the autoscaler.
  void removes(const RevisionId& revision, std::string_view pod, std::span<const Chooser> choosers,
               Duration age);

  /// Whether a request waits for this revision at an activator with a sound stream while not even a
  /// starting pod exists. To be called often.
  void stranded(const RevisionId& revision, bool is, TimePoint now);

  /// Whether a request waits at a door that lists no pod, although one of the revision's pods has
  /// served for kKnownMax. To be called often.
  void unserved(std::string_view activator, const RevisionId& revision, bool is, TimePoint now);

  /// After quiet: what an activator has in force, and what the autoscaler sent; `ready` is not
  /// worth a message and may differ.
  void converged(std::string_view activator, const RevisionId& revision,
                 const proto::RevisionState* in_force, const proto::RevisionState* said);

  /// After quiet: something that ought to be gone is still there.
  void left_over(std::string_view what, std::uint64_t count);

  [[nodiscard]] const std::string& breach() const { return breach_; }

 private:
  void breach(const RevisionId& revision, std::string_view what);

  Duration wake_max_;
  std::map<RevisionId, std::uint64_t> decided_;
  std::map<std::pair<std::string, RevisionId>, std::uint64_t> in_force_;
  std::map<RevisionId, TimePoint> stranded_since_;
  std::map<std::pair<std::string, RevisionId>, TimePoint> unserved_since_;
  std::string breach_;
};

}  // namespace sluice::simulation
