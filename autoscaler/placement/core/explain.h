#pragma once

#include "autoscaler/placement/core/choice.h"
#include "autoscaler/placement/core/home.h"
#include "autoscaler/placement/core/ledger.h"
#include "autoscaler/placement/core/move_view.h"
#include "autoscaler/placement/core/planner.h"
#include "autoscaler/placement/core/service_book.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::placement {

/// When the answer may be another one for a service that has no room where it wants it.
struct NextLook {
  /// The first pause, minimum age or hold at home that ends; absent: time alone changes nothing.
  std::optional<TimePoint> at{};
  std::vector<PlaceId> places{};  ///< as soon as a replica of one of these ends
};

/// Why a service has a replica in a place, or none anywhere, and not where it would rather have it.
struct LikedPlace {
  std::optional<PlaceId>
      place{};  ///< the one that it likes most of those above; absent: it has that
  /// "fast has 4 of its 4 replicas; moving 1 service would make room: pay was started 12 s ago (may
  /// move from 60 s on)".
  std::string why{};
  NextLook next{};
};

/// A place where the service could not be moved lately, and until when it is not tried again.
struct Barred {
  PlaceId place{};
  TimePoint until{};
};

/// What is asked about one replica of a service.
struct LikedQuestion {
  Demand demand{};
  std::optional<PlaceId> in{};  ///< where the replica is; absent: it has none
  /// What the planner found for one replica in PlaceOrder::above() the tier of `in`.
  const PlanOutcome* outcome = nullptr;  ///< the caller's, for the call
  PlanLimits limits{};
  HomeLimits home{};
  std::optional<TimePoint> due{};    ///< of HomeWatch: when it may come home
  std::span<const Barred> barred{};  ///< of its service, for the call
};

/// Of a place that is full: what it has, and which moves would make room. Of one with room: when
/// the replicas go there, or what keeps them.
[[nodiscard]] LikedPlace explain_liked(const Ledger& ledger, const ServiceBook& book,
                                       const LikedQuestion& question, TimePoint now);

/// Why a service may not be moved yet: "was started 12 s ago (may move from 60 s on)"; empty: it
/// may.
[[nodiscard]] std::string rest_words(const ServiceFacts& facts, Duration minimum_age,
                                     TimePoint now);

/// What a plan is for: plans are carried out for a replica that has no place alone.
enum class Asker : std::uint8_t { waits, has_a_place };

/// "moving 1 service makes room: pay to slow", or why there is no such plan; empty if none is
/// needed.
[[nodiscard]] std::string plan_words(const Ledger& ledger, const ServiceBook& book,
                                     const PlanOutcome& outcome, const PlanLimits& limits,
                                     Asker asker, TimePoint now);

/// When the planner may answer otherwise for a demand. `outcome` is what it found.
[[nodiscard]] NextLook next_look(const Ledger& ledger, const Demand& demand,
                                 const PlanOutcome& outcome, TimePoint now);

/// "room is being made in fast: pay -> slow (warming), shop -> slow (planned)", of the moves that
/// run for one demand; empty: none does.
[[nodiscard]] std::string room_words(std::span<const MoveRecord> moves);

}  // namespace sluice::placement
