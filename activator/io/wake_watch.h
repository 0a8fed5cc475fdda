#pragma once

#include "activator/io/front_gateway.h"
#include "common/metrics/exposition.h"
#include "common/metrics/histogram.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::activator {

/// Follows revisions from the first request that finds no pod to the first byte of its answer, and
/// knows how long each phase took (protocols.md 7). Costs nothing for who is awake.
class WakeWatch {
 public:
  /// A request waits and no pod takes requests.
  void held(RevisionHandle revision, TimePoint now);

  /// The autoscaler wants pods.
  void decided(RevisionHandle revision, TimePoint now);

  /// The platform tells of a pod.
  void seen(RevisionHandle revision, TimePoint now);

  /// One takes requests.
  void usable(RevisionHandle revision, TimePoint now);

  /// The revision is gone.
  void forget(RevisionHandle revision);

  /// The answer to a request that came while there was no pod begins: its phases are counted, and
  /// the header lines that tell of them returned.
  std::string first_byte(RevisionHandle revision, TimePoint arrived, TimePoint dispatched,
                         TimePoint now);

  void write(metrics::Exposition& text) const;

 private:
  // When each step of the present, or the last, start was seen; TimePoint{} while it was not.
  struct Wake {
    TimePoint held{};
    TimePoint decided{};
    TimePoint seen{};
    TimePoint usable{};
  };

  enum Phase : std::size_t { queued, started, probed, first_byte_, kPhases };

  [[nodiscard]] Wake* find(RevisionHandle revision);

  std::vector<std::unique_ptr<Wake>> wakes_;  // by index_of; null until the first start
  std::array<metrics::Histogram<14>, kPhases> phases_{};
  std::uint64_t starts_ = 0;
};

}  // namespace sluice::activator
