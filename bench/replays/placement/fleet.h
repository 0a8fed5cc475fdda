#pragma once

#include "autoscaler/placement/core/algorithms.h"
#include "autoscaler/placement/core/choice.h"
#include "autoscaler/placement/core/ledger.h"
#include "autoscaler/placement/core/planner.h"
#include "autoscaler/placement/core/policy.h"
#include "autoscaler/placement/core/service_book.h"
#include "bench/replays/placement/trace.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::replay {

/// What happens when a service finds no room.
enum class Mover : std::uint8_t {
  none,
  document,               ///< the document's policy as it is written
  document_destinations,  ///< the same, passing over services that may go nowhere else
  document_room,          ///< the same, passing over services that have no room elsewhere now
  ours,                   ///< the planner of fewest moves
};

/// What a worker of so many millicores has: its memory is in proportion.
[[nodiscard]] placement::Resources worker_of(std::int64_t cpu);

struct FleetKind {
  std::int64_t cpu = 6600;  ///< millicores of each worker; its memory is in proportion
  bool preference = true;   ///< A and B are liked more than C
  Mover mover = Mover::none;
  placement::MigrationPolicy policy = placement::default_policy();  ///< of Mover::ours
};

/// The three clusters of the replays with one worker each, filled through the product's own ledger,
/// choice and planner.
class Fleet final : public placement::ServiceBook {
 public:
  static constexpr std::size_t kClusters = 3;

  explicit Fleet(const FleetKind& kind);

  /// Nothing runs any longer.
  void clear();

  /// Places the services of an application in their order; all of them or none. True: it is in.
  bool admit(const Application& application);

  /// Services moved so far for applications that are in.
  [[nodiscard]] std::int64_t moves() const { return moves_; }

  /// Clusters that each application uses, in the order they came; 0: it is out.
  [[nodiscard]] std::vector<std::int64_t> clusters_used() const;

  /// CPU in use of a cluster, by its number.
  [[nodiscard]] std::int64_t cpu_used(std::size_t cluster) const;

  [[nodiscard]] std::int64_t cpu() const { return kind_.cpu; }

  /// Where each service of all applications is, in their order; those that are out have none.
  void describe(Digest& digest) const;

  [[nodiscard]] const placement::ServiceFacts* find(placement::ServiceId service) const override;
  [[nodiscard]] std::optional<std::int64_t> measure(placement::Parameter parameter,
                                                    placement::ServiceId service) const override;

 private:
  using Trial = placement::Trial;

  [[nodiscard]] bool place(Trial& trial, placement::ServiceId service);
  [[nodiscard]] bool make_room(Trial& trial, placement::ServiceId service);
  [[nodiscard]] bool plan(Trial& trial, placement::ServiceId service);
  [[nodiscard]] bool follow_document(Trial& trial, placement::ServiceId service);
  [[nodiscard]] bool free_enough(Trial& trial, placement::ServiceId service,
                                 placement::PlaceId target,
                                 const std::vector<placement::ServiceId>& candidates);
  [[nodiscard]] std::vector<placement::ServiceId> document_order(placement::ServiceId service,
                                                                 placement::PlaceId target) const;
  [[nodiscard]] bool passes_over(placement::ServiceId candidate, placement::PlaceId from) const;
  [[nodiscard]] placement::Choice destination(placement::ServiceId service,
                                              placement::PlaceId from) const;
  [[nodiscard]] bool move_away(Trial& trial, placement::ServiceId service, placement::PlaceId from);
  [[nodiscard]] placement::Demand demand(placement::ServiceId service) const;
  [[nodiscard]] std::int64_t places_of_application(placement::ServiceId service) const;

  FleetKind kind_;
  placement::Ledger ledger_;
  std::array<placement::PlaceId, kClusters> places_{};
  std::array<placement::NodeId, kClusters> nodes_{};
  std::array<placement::PlaceOrder, kAllLetters + 1> orders_;
  std::vector<placement::ServiceFacts> facts_;  // by service
  std::vector<std::int64_t> cpu_used_;          // by service, millicores
  placement::Parameters parameters_;
  placement::PlanLimits limits_;
  std::uint32_t applications_ = 0;
  std::int64_t moves_ = 0;
  std::vector<placement::ServiceId> moved_;  // for the application that is being admitted
};

}  // namespace sluice::replay
