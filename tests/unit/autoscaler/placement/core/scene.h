#pragma once

#include "autoscaler/placement/core/algorithms.h"
#include "autoscaler/placement/core/choice.h"
#include "autoscaler/placement/core/evacuation.h"
#include "autoscaler/placement/core/home.h"
#include "autoscaler/placement/core/ledger.h"
#include "autoscaler/placement/core/planner.h"
#include "autoscaler/placement/core/policy.h"
#include "autoscaler/placement/core/service_book.h"
#include "common/model/placement_wish.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::placement {

inline constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
inline constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;

/// What one replica needs that asks for CPU alone.
[[nodiscard]] constexpr Resources cpu(std::int64_t millicores) {
  return {.cpu = millicores, .slots = 1};
}

/// Places and services by name, and what placement answers as text.
class Scene final : public ServiceBook {
 public:
  static constexpr TimePoint kStart{std::chrono::hours{1}};

  struct PlaceForm {
    std::int32_t preference = 0;
    Resources capacity = kAnything;  ///< of each node
    std::int32_t nodes = 1;
    model::Labels labels{};
    Packing packing = Packing::spread;
  };

  struct ServiceForm {
    Resources need{.slots = 1};
    model::PlacementWish wish{};
    std::string application{};
  };

  struct Measures {
    std::optional<std::int64_t> cpu_used{};
    std::optional<std::int64_t> in_flight = 0;
    std::optional<std::int64_t> request_rate = 0;
  };

  Scene() : parameters_(ledger_, *this) {}

  PlaceId place(const std::string& name, const PlaceForm& form);
  ServiceId service(const std::string& name, const ServiceForm& form);

  ServiceId service(const std::string& name) { return service(name, {}); }

  /// Changes one place.
  void set_state(const std::string& name, PlaceState state);
  void set_preference(const std::string& name, std::int32_t preference);

  /// So many replicas of the service run in the place, on its first node with room, else on its
  /// first.
  void run(const std::string& service, const std::string& place, std::int64_t replicas = 1);
  /// They end.
  void end(const std::string& service, const std::string& place, std::int64_t replicas = 1);

  [[nodiscard]] ServiceFacts& facts(const std::string& service);
  [[nodiscard]] Measures& measures(const std::string& service);

  [[nodiscard]] ServiceId id(const std::string& service) const { return ids_.at(service); }

  [[nodiscard]] PlaceId place_id(const std::string& name) const { return places_.at(name); }

  [[nodiscard]] NodeId node(const std::string& place, std::size_t number = 0) const;
  [[nodiscard]] Demand demand(const std::string& service);

  [[nodiscard]] Ledger& ledger() { return ledger_; }

  [[nodiscard]] Parameters& parameters() { return parameters_; }

  /// "fast", "fast/1" of the second node, or why there is none: "no: fast is full: 4 of 4
  /// replicas".
  [[nodiscard]] std::string choose(const std::string& service, const Gate& gate = {});
  /// The same, and the replica runs there from now on.
  std::string start(const std::string& service);

  [[nodiscard]] PlanOutcome outcome(const std::string& service);
  /// "pay fast->slow, then fast", or the reason why there is none.
  [[nodiscard]] std::string plan(const std::string& service);
  [[nodiscard]] std::string text(const PlannedMove& move) const;

  /// "shop fast 3, slow 2"
  [[nodiscard]] std::string where(const std::string& service) const;

  MigrationPolicy policy = default_policy();
  PlanLimits limits;
  Urgency urgency = Urgency::normal;
  Gate gate;
  std::int64_t starts_max = kUnbounded;
  TimePoint now = kStart;
  mutable std::map<std::pair<Parameter, ServiceId>, int> measured;  ///< how often each was

  [[nodiscard]] const ServiceFacts* find(ServiceId service) const override;
  [[nodiscard]] std::optional<std::int64_t> measure(Parameter parameter,
                                                    ServiceId service) const override;

 private:
  struct Known {
    std::string name;
    model::PlacementWish wish;
    std::unique_ptr<PlaceOrder> order;  // facts point to it
    ServiceFacts facts;
    Measures measures;
  };

  [[nodiscard]] Known& known(const std::string& service) {
    return services_[index_of(id(service))];
  }

  void refresh();

  Ledger ledger_;
  Parameters parameters_;
  std::map<std::string, PlaceId> places_;
  std::map<std::string, ServiceId> ids_;
  std::map<std::string, std::uint32_t> applications_;
  std::vector<Known> services_;
};

/// Reserves what a plan needs: the destinations for the moves, which are numbered from `first` on,
/// and of the demand's room at its node what is free now. What the moves free is reserved for it as
/// it becomes free.
std::vector<ReservationId> reserve(Ledger& ledger, const MovePlan& plan, const Demand& demand,
                                   MoveId first, TimePoint expires);

}  // namespace sluice::placement
