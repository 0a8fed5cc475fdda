#pragma once

#include "autoscaler/placement/core/choice.h"
#include "autoscaler/placement/core/grant.h"
#include "autoscaler/placement/core/ids.h"
#include "autoscaler/placement/core/ledger.h"
#include "autoscaler/placement/core/resources.h"
#include "common/base/ids.h"
#include "common/model/placement_wish.h"
#include "common/time/time_point.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sluice::placement {

/// A place as it is now, for people.
struct PlaceFigures {
  /// What a revision has there.
  struct Tenant {
    RevisionId revision;
    std::int64_t replicas = 0;  ///< that exist or are promised
  };

  const Place* place = nullptr;  ///< until the places change
  Totals totals{};
  Resources hole{};  ///< the largest that a node has free
  std::vector<Tenant> tenants{};
};

/// Answers how many of the replicas that a revision should have there are to be, and where: the one
/// admission of every form. A start needs room in the ledger and a yes of the gate of its node.
///
/// Room bounds growth: what exists is counted whether it fits or not, and nothing is taken back.
class Placement {
 public:
  /// So long room is kept for a replica that was granted and does not appear.
  static constexpr Duration kPromised = std::chrono::seconds{60};

  /// `site` outlives this.
  explicit Placement(Site& site) : site_{site}, ledger_{site.ledger()} {}

  ~Placement() = default;

  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  /// Repeated with every change and every few seconds: a grant keeps room for what it adds until
  /// the replicas exist, are no longer wanted, or kPromised has passed since the last call.
  [[nodiscard]] Grant ask(const RevisionId& revision, const RevisionDemand& demand);

  /// The revision is gone: what it holds is free.
  void forget(const RevisionId& revision);

  /// Every place in the order of preference, then of their ids.
  [[nodiscard]] std::vector<PlaceFigures> view() const;

  /// What ask() has counted and promised.
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }

  /// For plans, which leave it as it was, and for the states of places.
  [[nodiscard]] Ledger& ledger() { return ledger_; }

  // --- moves ---

  /// What ask() has said of a revision last.
  struct Service {
    ServiceId id{};
    RevisionId revision{};
    Resources each{};
    const model::PlacementWish* wish = nullptr;  ///< these two until its next ask()
    const PlaceOrder* order = nullptr;
  };

  /// Absent: it has not asked yet.
  [[nodiscard]] std::optional<Service> find(const RevisionId& revision) const;
  [[nodiscard]] std::optional<Service> find(ServiceId service) const;

  /// Replicas of the service that exist in the place.
  [[nodiscard]] std::int32_t count(ServiceId service, PlaceId place) const;

  /// How many more of the service the place has room for.
  [[nodiscard]] std::int32_t room(ServiceId service, PlaceId place) const;

  /// How many more replicas may be started, of all services and whatever room places have; and what
  /// bounds that, for people.
  [[nodiscard]] std::int64_t spare() const { return std::max<std::int64_t>(0, site_.spare()); }

  [[nodiscard]] std::string spare_bound() const { return site_.spare_bound(); }

  /// Keeps room for so many replicas of the service in the place from now on, as far as there is
  /// any; repeated at least every kPromised. Returns for how many.
  std::int32_t reserve(MoveId move, ServiceId service, PlaceId place, std::int32_t replicas,
                       TimePoint now);

  /// Replicas that room is kept for by the move.
  [[nodiscard]] std::int32_t reserved(MoveId move) const;

  /// What replicas of `service` free in the place from now on is kept for `demand`, for kHeldFor
  /// each; absent: for none.
  void promise_freed(ServiceId service, PlaceId place, std::optional<ServiceId> demand);

  /// The first replica of a revision that has none is to be in the place, if there is room.
  void prefer(const RevisionId& revision, PlaceId place);

  /// The name of that place; empty: there is none.
  [[nodiscard]] std::string first_place(const RevisionId& revision) const;

 private:
  /// Room on one node for replicas to come.
  struct Promise {
    NodeId node{};
    PlaceId place{};
    std::int32_t replicas = 0;
    ReservationId id{};
  };

  /// Room that moves have freed.
  struct Kept {
    NodeId node{};
    Resources room{};
    TimePoint until{};
    ReservationId id{};
  };

  struct Freed {
    PlaceId place{};
    ServiceId demand{};
  };

  /// What a move has reserved, a replica each.
  struct MoveRoom {
    ServiceId service{};
    std::vector<Promise> rooms{};
  };

  struct Known {
    ServiceId service{};
    Resources each{};
    model::PlacementWish wish{};
    std::optional<PlaceOrder> order{};
    std::vector<Promise> promises{};  // in the order they were made
    std::int32_t placed = 0;          // as placed_ was at the last call
    std::optional<PlaceId> first{};   // where its first replica is to be
    std::vector<Kept> kept{};         // freed for it, and not taken yet
    std::optional<Freed> freed{};     // what its own replicas free is for another
  };

  using Entry = std::pair<const RevisionId, Known>;

  struct Presence {
    NodeId node{};
    std::int32_t replicas = 0;  // that the ledger counts
    std::int32_t staying = 0;   // that neither leave nor are to
    std::int32_t chosen = 0;    // that may be kept
  };

  /// What a revision has in one place.
  struct In {
    PlaceId place{};
    std::uint32_t tier = 0;
    std::int32_t replicas = 0;
    std::int32_t chosen = 0;  // that may be kept
  };

  struct Asking;  // one call of ask()

  [[nodiscard]] static Service service_of(const RevisionId& revision, const Known& known);

  [[nodiscard]] Entry* entry_of(ServiceId service) const;
  [[nodiscard]] Known& know(const RevisionId& revision, const RevisionDemand& demand);
  void count(const RevisionDemand& demand);
  void redeem(Known& known, TimePoint now);
  [[nodiscard]] std::int32_t redeem_move(ServiceId service, NodeId node, std::int32_t replicas);
  void shrink(const Known& known, Promise& promise, std::int32_t fewer, TimePoint now);
  void hold(const Known& known);
  void give_back(const Known& known, NodeId node, const Resources& room);
  void keep(Known& known, NodeId node, const Resources& room, TimePoint until);
  void open_kept(Known& known, TimePoint now);
  void close_kept(Known& known);
  [[nodiscard]] std::int64_t held(const Known& known) const;
  [[nodiscard]] Resources used_on(ServiceId service, NodeId node) const;
  [[nodiscard]] std::int32_t keep_promises(Known& known, TimePoint now);
  void promise(Known& known, const Choice& choice, std::int32_t replicas, TimePoint now);
  void resize(const Known& known, Promise& promise, std::int32_t replicas, TimePoint now);
  void drop_promises(Known& known, std::int32_t surplus, TimePoint now);
  [[nodiscard]] Choice find_room(const Asking& asking, const Gate& gate) const;
  [[nodiscard]] std::int32_t together(const Asking& asking, NodeId node, std::int32_t left);
  [[nodiscard]] std::uint32_t tier_of(const Known& known, PlaceId place) const;
  [[nodiscard]] static NodeId promised_node(const Known& known, std::int32_t nth);
  [[nodiscard]] std::int32_t grow(Asking& asking, std::int32_t owed, std::int32_t missing);
  void refuse(const Asking& asking, Grant& grant);
  [[nodiscard]] std::span<const PlaceShare> shares(const Known& known, std::int32_t replicas);
  void list_places(const Known& known);

  Site& site_;
  Ledger& ledger_;
  std::unordered_map<RevisionId, Known> known_;
  std::vector<Entry*> by_service_;  // of known_; null: none has the number
  TimePoint asked_at_{};
  std::vector<ServiceId> spare_;  // of revisions that are gone
  std::map<MoveId, MoveRoom> moves_;
  std::uint32_t next_ = 0;
  std::vector<In> in_;              // of one call of ask()
  std::vector<PlaceShare> shares_;  // the room of answers; only the first of them are the answer's
  // Of the revision that asks; members, so that a call allocates nothing.
  std::vector<Presence> present_;
  std::int32_t placed_ = 0;  // replicas that do not leave and for which nothing is promised
  std::vector<Holding> gone_;
};

}  // namespace sluice::placement
