#pragma once

#include "activator/io/front_gateway.h"
#include "common/messages/activator_stream.h"
#include "common/metrics/families.h"
#include "common/metrics/histogram.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::activator {

/// Follows revisions from the first request that finds no pod to the first byte of its answer, and
/// has the time of each phase (protocols.md 7). Costs nothing while a revision has pods.
class WakeWatch {
 public:
  /// A request waits and no pod takes requests.
  void held(RevisionHandle revision, TimePoint now);

  /// The autoscaler requests pods.
  void decided(RevisionHandle revision, TimePoint now);

  /// The platform reports a pod.
  void seen(RevisionHandle revision, TimePoint now);

  /// One takes requests.
  void usable(RevisionHandle revision, TimePoint now);

  /// The revision is gone.
  void forget(RevisionHandle revision);

  /// How long the request waited for what, without revision and pod.
  struct Phases {
    proto::ColdStart took;
    bool first = false;  ///< of this start no answer has begun before
  };

  /// The answer to a request that came while there was no pod begins: its phases are counted.
  /// Nothing: no start of it was seen.
  [[nodiscard]] std::optional<Phases> first_byte(RevisionHandle revision, TimePoint arrived,
                                                 TimePoint dispatched, TimePoint now);

  void write(metrics::Families& families) const;

 private:
  // When each step of the present, or the last, start was seen; TimePoint{} while it was not.
  struct Wake {
    TimePoint held{};
    TimePoint decided{};
    TimePoint seen{};
    TimePoint usable{};
    bool answered = false;
  };

  static constexpr std::size_t kPhases = 4;

  [[nodiscard]] Wake* find(RevisionHandle revision);

  std::vector<std::unique_ptr<Wake>> wakes_;  // by index_of; null until the first start
  std::array<metrics::Histogram<14>, kPhases> phases_{};
  std::uint64_t starts_ = 0;
};

/// The header lines Sluice-Cold-Start and Server-Timing.
[[nodiscard]] std::string cold_start_lines(const proto::ColdStart& took);

}  // namespace sluice::activator
