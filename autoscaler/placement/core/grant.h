#pragma once

#include "autoscaler/placement/core/choice.h"
#include "autoscaler/placement/core/ledger.h"
#include "autoscaler/placement/core/resources.h"
#include "common/base/ids.h"
#include "common/model/placement_wish.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::placement {

/// A replica that exists, as its platform shows it.
struct ReplicaAt {
  std::string_view node{};  ///< where it runs; empty: not known, or there is one node only
  bool leaving = false;     ///< it is being stopped, and holds its room until it has gone
  bool chosen = false;      ///< it is to be stopped, and may still be kept
  bool settled = false;     ///< it has run for kClaimKept: its memory is in the reports of its node
};

/// The replicas that a revision should have.
struct RevisionDemand {
  std::int32_t wanted = 0;                     ///< replicas
  std::int32_t load = 0;                       ///< of them, what the load alone needs now
  std::int32_t ordered = 0;                    ///< that it was granted before
  Resources each{.slots = 1};                  ///< what one of them claims
  const model::PlacementWish* wish = nullptr;  ///< null: any place will do
  std::span<const ReplicaAt> replicas{};
  bool forced = false;  ///< chosen by hand: granted whatever there is room for
  bool moving = false;  ///< a move adds what is missing: nothing is granted beyond what exists
  TimePoint now{};
};

/// Why not all replicas that a revision should have are granted.
struct Missing {
  std::int32_t count = 0;  ///< replicas
  Reason reason = Reason::none;
  std::string detail{};  ///< a clause for people: "max-replicas 2 reached"
  std::string fix{};     ///< may be empty
  /// How long requests may wait before they are refused for it; absent: they never are.
  std::optional<Duration> patience = Duration{0};
  /// When refused requests are worth another try.
  Duration retry_after = std::chrono::seconds{10};
};

/// How many replicas of a revision there are to be in one place.
struct PlaceShare {
  std::string place;
  std::int32_t replicas = 0;

  friend bool operator==(const PlaceShare&, const PlaceShare&) = default;
};

/// The answer to a demand.
struct Grant {
  std::int32_t replicas = 0;  ///< that there are to be from now on
  /// Where, the most liked first; empty: in the only place, which is not named. Valid until the
  /// next question.
  std::span<const PlaceShare> places{};
  std::optional<Missing> missing{};  ///< there is no room for all that are wanted
  /// The rest is only put off until then; absent while `missing` is: nothing is put off.
  std::optional<TimePoint> ask_again{};
};

/// How replicas come to be in one form of the engine: its places, the gates of its nodes, and what
/// no ledger knows. Placement asks it within ask().
class Site {
 public:
  /// What holds for a revision whatever room there is.
  struct Terms {
    std::int32_t most = 0;             ///< replicas, at most as many as are wanted
    std::optional<Missing> missing{};  ///< why fewer than are wanted; without its count
    /// Replicas that need no start: they live, or something else starts them again.
    std::int32_t there = 0;
    /// Of those to come, as many are started in this turn and meet the gate now; the rest meets it
    /// in its own turn.
    std::int32_t now = 0;
  };

  virtual ~Site() = default;

  /// Its places and nodes are the site's to keep; what is taken and reserved there, Placement's.
  [[nodiscard]] virtual Ledger& ledger() = 0;

  /// Whether a grant names the place also where there is only one.
  [[nodiscard]] virtual bool names_only_place() const { return false; }

  /// Empty: of a replica whose node is not known.
  [[nodiscard]] virtual std::optional<NodeId> find(std::string_view node) const = 0;

  /// Whether what the nodes report as free is without the memory of replicas that have settled.
  [[nodiscard]] virtual bool reports_settled() const = 0;

  /// `held`: replicas of the revision that the ledger counts, those to come included.
  [[nodiscard]] virtual Terms terms(const RevisionId& revision, const RevisionDemand& demand,
                                    std::int64_t held) = 0;

  /// Whether the `nth` replica to come (from 0) may start on `node`, where the ledger has room.
  [[nodiscard]] virtual GateAnswer may_start(const RevisionId& revision, std::int32_t nth,
                                             NodeId node, const Resources& each, TimePoint now) = 0;

  /// A start was granted on the node: how many more may be granted there with it.
  [[nodiscard]] virtual std::int64_t on_start(NodeId node, TimePoint now) = 0;

  /// When a node that has room takes starts again, which only rests after one; absent: there is
  /// none.
  [[nodiscard]] virtual std::optional<TimePoint> rested(const Resources& each) const = 0;

  /// Replicas that there may be beside those that are taken and promised, over all places.
  [[nodiscard]] virtual std::int64_t spare() const { return kUnbounded; }

  /// What bounds spare(), for people: "max-replicas 10"; empty: nothing does.
  [[nodiscard]] virtual std::string spare_bound() const { return {}; }

  /// Adds words, fix and patience to why a replica is not granted.
  virtual void explain(const RevisionId& revision, const RevisionDemand& demand,
                       const Refusal& refusal, Missing& missing) = 0;
};

}  // namespace sluice::placement
