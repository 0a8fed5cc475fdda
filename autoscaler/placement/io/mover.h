#pragma once

#include "autoscaler/io/fleet.h"
#include "autoscaler/placement/core/algorithms.h"
#include "autoscaler/placement/core/applications.h"
#include "autoscaler/placement/core/evacuation.h"
#include "autoscaler/placement/core/explain.h"
#include "autoscaler/placement/core/guard.h"
#include "autoscaler/placement/core/home.h"
#include "autoscaler/placement/core/moves.h"
#include "autoscaler/placement/core/placement.h"
#include "autoscaler/placement/core/planner.h"
#include "autoscaler/placement/core/policy.h"
#include "autoscaler/placement/core/policy_view.h"
#include "autoscaler/placement/core/rules.h"
#include "autoscaler/placement/core/service_book.h"
#include "common/base/ids.h"
#include "common/base/result.h"
#include "common/loop/loop.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// Carries moves out between the places of one machine: shows each move what there is, and brings
/// its orders to the revision and the ledger (placement/core/move.h). Belongs to the loop.
class Mover final : private placement::ServiceBook {
 public:
  /// What the platform has measured of a revision.
  struct Measured {
    std::optional<std::int64_t> cpu{};      ///< thousandths of a core that all of its replicas use
    std::optional<Duration> usual_start{};  ///< of a replica, until it is ready
  };

  /// All outlive this.
  struct Parts {
    Loop& clock;
    Fleet& fleet;
    placement::Placement& placement;
    std::function<void(const placement::MoveRecord&)> news;    ///< a move says something else
    std::function<void(const std::string& place)> place_news;  ///< it is drained, or no more
    std::function<Measured(const RevisionId&)> measured{};     ///< null: nothing is measured
  };

  /// How far a place that a person drains has come.
  struct Drain {
    std::int32_t services = 0;  ///< that have left it
    std::int32_t replicas = 0;
    std::int64_t cut = 0;                ///< requests broken off by that
    std::vector<std::string> remaining;  ///< services that cannot leave, each with why
    bool over = false;                   ///< it is empty, or nothing more can leave now
  };

  /// What a move by hand comes to.
  struct Begun {
    std::vector<placement::MoveId> moves{};  ///< none: all replicas are there already
    bool asleep = false;                     ///< there are none: the next start is there
  };

  explicit Mover(Parts parts);
  ~Mover() override;
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  /// In force from the next plan on; moves that run go on as they began.
  void set_rules(const placement::Rules& rules);

  /// Which services a policy would move out of each place now, if `rules` held.
  [[nodiscard]] std::vector<placement::PlaceRanking> rank(const placement::MigrationPolicy& policy,
                                                          const placement::Rules& rules);

  /// For words about what rank() answers.
  [[nodiscard]] std::string service_name(placement::ServiceId service) const;

  /// Moves all replicas of the revisions of one service to the place, by hand. A problem: no such
  /// place, no room for all of them together, or one of them may not be moved; nothing is begun.
  [[nodiscard]] Result<Begun, Problem> move(std::span<const RevisionId> revisions,
                                            const std::string& to);

  /// Nothing new goes to the place, and what is there leaves as far as it can. What stays is tried
  /// again each second.
  [[nodiscard]] std::optional<Problem> drain(const std::string& place);

  /// The place takes replicas again. Moves that run are finished.
  [[nodiscard]] std::optional<Problem> undrain(const std::string& place);

  /// Forgets a drain that has emptied its place, which may be removed then. False: something is
  /// there, or on its way.
  [[nodiscard]] bool let_go(const std::string& place);

  /// Null: it is not drained.
  [[nodiscard]] const Drain* drain_of(const std::string& place) const;

  /// Those that run, wait, or were the last: the newest first.
  [[nodiscard]] std::vector<placement::MoveRecord> records() const { return moves_.records(); }

  /// Times that there was room at home and it went before the hold had passed.
  [[nodiscard]] std::int64_t suppressed_home() const { return home_.suppressed(); }

  /// A request of the revision has ended at the pod with this address.
  void served(const RevisionId& revision, const std::string& address, bool failed, bool cut);

  /// A revision has no room for all that it wants: moves that would make some are looked for soon.
  void on_shortage();

  /// Call each second: services come home, and what has stayed in a drained place is tried again.
  void tick();

  /// The revision is gone: its number may be another's soon, which has no pauses.
  void forget(const RevisionId& revision);

  /// The program stops: moves end, and nothing is begun.
  void stop();

  /// Why a replica of the revision is in the place and not where it would rather be, and which
  /// moves would change that.
  [[nodiscard]] placement::LikedPlace why_elsewhere(const RevisionId& revision,
                                                    const std::string& place);

  /// What moves do for a revision that lacks replicas.
  struct Waits {
    /// "room is being made in fast: pay -> slow (warming)", or why nothing is moved for it; empty:
    /// moves do not matter to it.
    std::string why{};
    placement::NextLook next{};
  };

  /// Absent: it has all replicas that it wants.
  [[nodiscard]] std::optional<Waits> why_it_waits(const RevisionId& revision);

  /// Which services are moved so that the revision has room, as Waits::why; empty: none is.
  [[nodiscard]] std::string room_made_for(const RevisionId& revision) const;

 private:
  /// The requests of a move's service, by place.
  struct Tallies {
    placement::Tally from;
    placement::Tally to;
  };

  /// Replicas that a move may start, and those that it has to.
  struct Starts {
    std::int64_t left = 0;
    std::int64_t needed = 0;
  };

  [[nodiscard]] const placement::ServiceFacts* find(placement::ServiceId service) const override;
  [[nodiscard]] std::optional<std::int64_t> measure(placement::Parameter parameter,
                                                    placement::ServiceId service) const override;

  void begin_cycle();
  [[nodiscard]] Measured measured(const Revision& revision) const;
  [[nodiscard]] const placement::Applications& applications() const;
  [[nodiscard]] Result<placement::PlaceId, Problem> place_named(const std::string& name) const;
  [[nodiscard]] Revision* revision_of(placement::ServiceId service) const;
  [[nodiscard]] bool is_replaced(const Revision& revision) const;
  [[nodiscard]] const std::set<std::string>& rolling() const;
  [[nodiscard]] std::optional<Problem> why_not_by_hand(const RevisionId& revision,
                                                       placement::PlaceId to) const;
  [[nodiscard]] Problem no_room_to_move(std::span<const placement::Source> sources,
                                        placement::PlaceId to) const;
  void begin_later(placement::ServiceId service, placement::PlaceId to, Begun& begun);
  [[nodiscard]] bool may_start_elsewhere(const placement::Placement::Service& known) const;
  [[nodiscard]] std::int64_t starts_left() const;
  [[nodiscard]] std::string no_starts_words(const Starts& starts) const;
  [[nodiscard]] std::string refusal_of(const Revision& revision,
                                       const placement::PlannedMove& planned) const;
  void find_source(placement::Moves::Wish& wish) const;
  [[nodiscard]] std::string barred_words(placement::ServiceId service) const;
  [[nodiscard]] std::string why_it_stays(const placement::Evacuation::Remaining& one,
                                         placement::PlaceId place) const;
  [[nodiscard]] placement::MoveSpec spec_of(const Revision& revision, placement::PlaceId from,
                                            placement::PlaceId to,
                                            placement::MoveCause cause) const;
  std::optional<placement::MoveId> add(const placement::PlannedMove& planned,
                                       placement::MoveCause cause,
                                       std::optional<placement::ServiceId> held_for = {});
  void look();
  void evacuate(bool again);
  [[nodiscard]] bool take_out(placement::PlaceId place, Drain& drain);
  void plan();
  void plan_for(const Revision& revision);
  void look_for_room(const Revision& revision, const placement::Placement::Service& known,
                     Waits& waits);
  [[nodiscard]] placement::PlanOutcome outcome_for(const Revision& revision,
                                                   const placement::Placement::Service& known);
  void begin_plan(const placement::MovePlan& plan, placement::ServiceId demand);
  void withdraw();
  void come_home();

  [[nodiscard]] bool is_one_place() const { return parts_.placement.ledger().places().size() < 2; }

  void step(placement::MoveId id);
  void note(const placement::MoveRecord& record);
  void arm();

  Parts parts_;
  placement::Moves moves_{placement::MoveLimits{}};
  placement::Parameters parameters_;
  placement::Rules rules_;
  placement::HomeWatch home_;
  placement::Guard guard_{placement::GuardLimits{}};
  std::map<placement::PlaceId, Drain> drains_;
  std::set<placement::ServiceId> demands_;  // for which services are moved
  bool short_ = false;                      // a revision may lack room that moves could make
  std::map<placement::MoveId, Tallies> tallies_;
  // Of one look: what was found stays where it is meanwhile.
  mutable std::map<placement::ServiceId, placement::ServiceFacts> book_;
  mutable std::map<placement::ServiceId, placement::PlaceOrder> orders_;
  mutable std::optional<placement::Applications> applications_;  // absent: not asked for
  mutable std::optional<std::set<std::string>> rolling_;
  std::unique_ptr<Timer> timer_;
  bool armed_ = false;
  bool stopping_ = false;
};

}  // namespace sluice::autoscaler
