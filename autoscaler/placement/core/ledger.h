#pragma once

#include "autoscaler/placement/core/ids.h"
#include "autoscaler/placement/core/node_index.h"
#include "autoscaler/placement/core/place.h"
#include "autoscaler/placement/core/resources.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::placement {

/// Who a reservation is for.
struct Owner {
  enum class Kind : std::uint8_t { service, move };

  Kind kind = Kind::service;
  std::uint32_t id = 0;

  [[nodiscard]] static Owner of(ServiceId service) {
    return {Kind::service, static_cast<std::uint32_t>(service)};
  }

  [[nodiscard]] static Owner of(MoveId move) {
    return {Kind::move, static_cast<std::uint32_t>(move)};
  }

  friend bool operator==(const Owner&, const Owner&) = default;
};

enum class Purpose : std::uint8_t {
  admit,  ///< replicas that were granted and do not exist yet
  move,   ///< replicas that a move will start here
};

/// Room that is kept until its replicas exist, or until it expires.
struct Reservation {
  ReservationId id{};  ///< given by the ledger
  Owner owner{};
  ServiceId service{};  ///< whose replicas it is for: they count for its limit on the node
  NodeId node{};
  Resources room{};
  TimePoint expires{};
  Purpose purpose = Purpose::admit;

  friend bool operator==(const Reservation&, const Reservation&) = default;
};

/// What one service has on one node.
struct Holding {
  NodeId node{};
  Resources used{};      ///< of replicas that exist
  Resources reserved{};  ///< for replicas to come

  friend bool operator==(const Holding&, const Holding&) = default;
};

/// What the ready nodes of a place have in all.
struct Totals {
  Resources capacity{};
  Resources used{};
  Resources reserved{};
  std::int32_t nodes = 0;

  /// kUnbounded where nothing bounds it.
  [[nodiscard]] Resources free() const { return capacity - used - reserved; }
};

/// Which place and node has what, what runs there and what is promised. The one place where room is
/// taken: every start takes its share here before it happens, so two never get the same room.
///
/// A replica that exists is counted whether it fits or not: room bounds what is new.
class Ledger {
 public:
  [[nodiscard]] PlaceId add_place(Place place);
  void update_place(PlaceId id, Place place);
  /// It has no nodes any longer.
  void remove_place(PlaceId id);

  [[nodiscard]] const Place& place(PlaceId id) const;
  [[nodiscard]] std::optional<PlaceId> find_place(std::string_view name) const;

  /// In ascending order.
  [[nodiscard]] std::span<const PlaceId> places() const { return place_ids_; }

  /// Changes with every change of a place, but not of what it holds.
  [[nodiscard]] std::uint64_t places_version() const { return places_version_; }

  [[nodiscard]] NodeId add_node(Node node);
  /// The place stays the same.
  void update_node(NodeId id, Node node);
  /// With all that is taken and reserved on it.
  void remove_node(NodeId id);

  [[nodiscard]] const Node& node(NodeId id) const;
  /// Of the place, in ascending order of their positions in it.
  [[nodiscard]] std::span<const NodeId> nodes(PlaceId id) const;

  /// Replicas exist that need `room` together; room.slots is their number.
  void take(NodeId node, ServiceId service, const Resources& room);
  /// They are gone. At most what was taken.
  void give_back(NodeId node, ServiceId service, const Resources& room);

  /// `wanted.id` is ignored.
  [[nodiscard]] ReservationId reserve(Reservation wanted);
  /// False: it was released, or it has expired.
  bool release(ReservationId id);
  /// Ends what expires at `now` or before, and returns it in order of expiry, then of id.
  std::vector<Reservation> expire(TimePoint now);

  /// Null: it was released, or it has expired. Until the next change of the ledger.
  [[nodiscard]] const Reservation* find(ReservationId id) const;

  /// When the next reservation expires.
  [[nodiscard]] std::optional<TimePoint> next_expiry() const;

  /// What may still be placed on the node: kUnbounded where nothing bounds it, below 0 where more
  /// exists than fits.
  [[nodiscard]] Resources free(NodeId id) const;
  /// Of what a ready node of the place has free, the largest by its dominant share.
  [[nodiscard]] Resources largest_hole(PlaceId id) const;
  [[nodiscard]] Totals totals(PlaceId id) const;
  /// Whether a node of the place could hold `need` if it were empty. What a place without nodes
  /// could hold is not known: it could.
  [[nodiscard]] bool could_hold(PlaceId id, const Resources& need) const;

  /// Replicas of the service on the node, those to come included.
  [[nodiscard]] std::int64_t count(NodeId node, ServiceId service) const;
  /// In ascending order of nodes.
  [[nodiscard]] std::span<const Holding> holdings(ServiceId service) const;
  /// What replicas of the service that exist use in the place.
  [[nodiscard]] Resources used(PlaceId place, ServiceId service) const;
  /// Services with replicas that exist in the place, in ascending order.
  [[nodiscard]] std::span<const ServiceId> services(PlaceId place) const;

  /// The nodes of a place by what they have free; for the choice.
  [[nodiscard]] const NodeIndex& index(PlaceId place) const;

  /// What is wrong with the ledger itself; empty when nothing is. For tests.
  [[nodiscard]] std::string problem() const;

 private:
  friend class Trial;

  /// What one component of capacities adds up to.
  struct Sum {
    std::int64_t bounded = 0;
    std::int64_t unbounded = 0;  ///< how many have no bound

    void add(std::int64_t amount, std::int64_t times);

    [[nodiscard]] std::int64_t value() const { return unbounded > 0 ? kUnbounded : bounded; }
  };

  struct PlaceEntry {
    Place place{};
    bool present = false;
    NodeIndex index{};
    Sum cpu{};
    Sum memory{};
    Sum slots{};
    Resources used{};
    Resources reserved{};
    std::int32_t ready = 0;
    std::vector<ServiceId> services{};
  };

  struct NodeEntry {
    Node node{};
    bool present = false;
    std::size_t position = 0;  ///< in the index of its place
    Resources used{};
    Resources reserved{};
  };

  struct ReservationEntry {
    Reservation reservation;
    std::uint32_t uses = 0;
    bool present = false;
  };

  [[nodiscard]] PlaceEntry& entry(PlaceId id);
  [[nodiscard]] const PlaceEntry& entry(PlaceId id) const;
  [[nodiscard]] NodeEntry& entry(NodeId id);
  [[nodiscard]] const NodeEntry& entry(NodeId id) const;
  [[nodiscard]] const Holding* find_holding(NodeId node, ServiceId service) const;
  enum class Kind : std::uint8_t { used, reserved };
  // By value: the room may be that of a holding, which changes.
  void add(NodeId node, ServiceId service, Resources room, Kind kind);
  void remove(NodeId node, ServiceId service, Resources room, Kind kind);
  void free_changed(NodeEntry& node);
  void count_node(const NodeEntry& node, std::int64_t times);
  void list_service(PlaceEntry& place, ServiceId service);
  void unlist_service(PlaceEntry& place, PlaceId id, ServiceId service);
  [[nodiscard]] ReservationEntry* live(ReservationId id);

  std::vector<PlaceEntry> places_;
  std::vector<PlaceId> place_ids_;
  std::uint64_t places_version_ = 0;
  std::vector<NodeEntry> nodes_;
  std::vector<NodeId> spare_nodes_;             // removed
  std::vector<std::vector<Holding>> holdings_;  // by service
  // Places that are used again: a reservation allocates nothing once there were as many. The lower
  // half of an id is its place, the upper half counts its uses.
  std::vector<ReservationEntry> reservations_;
  std::vector<std::uint32_t> spare_reservations_;
  TimePoint first_expiry_ = TimePoint::max();  // none expires before
};

/// Changes of a ledger that are tried and taken back: at its end, or back to a mark, everything is
/// as it was. The ledger is changed through it alone meanwhile; another may begin and end within.
class Trial {
 public:
  using Mark = std::size_t;

  explicit Trial(Ledger& ledger) : ledger_(ledger) {}

  ~Trial() { back_to(0); }

  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  /// As Ledger::take.
  void take(NodeId node, ServiceId service, const Resources& room);
  /// As Ledger::give_back.
  void give_back(NodeId node, ServiceId service, const Resources& room);

  [[nodiscard]] Mark mark() const { return changes_.size(); }

  /// Takes back what was changed since then.
  void back_to(Mark mark);

  /// What was changed so far stays.
  void keep() { changes_.clear(); }

  [[nodiscard]] const Ledger& ledger() const { return ledger_; }

 private:
  struct Change {
    NodeId node{};
    ServiceId service{};
    Resources room{};
    bool taken = false;
  };

  Ledger& ledger_;  // the caller's, for the length of a plan
  std::vector<Change> changes_;
};

}  // namespace sluice::placement
