#pragma once

#include "activator/io/front_gateway.h"
#include "activator/io/revision_book.h"
#include "autoscaler/core/view/latency_window.h"
#include "autoscaler/io/front_facts.h"
#include "autoscaler/io/history.h"
#include "common/api/event_ring.h"
#include "common/time/clock.h"

#include <nlohmann/json.hpp>

#include "platform/process/process_platform.h"
#include "programs/sluice/engine/by_handle.h"
#include "programs/sluice/engine/callers.h"
#include "programs/sluice/engine/service_times.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::local {

/// What the front door and the processes of one machine add to the API: latencies, callers, cold
/// starts, process ids.
class FrontFigures final : public autoscaler::FrontFacts {
 public:
  struct Parts {
    const Clock& clock;
    const activator::FrontGateway& front;
    const activator::RevisionBook& book;
    const ProcessPlatform& platform;
    MemoryPressure& memory;
    const std::vector<MachineGroup>& groups;
    autoscaler::History& history;
    api::EventRing& events;
    std::function<void(nlohmann::json&)> version;             ///< adds what is known of the process
    std::function<std::string(const std::string& host)> url;  ///< at the front door
    const RequestsNow& requests;
    /// A start has been seen to its end.
    std::function<void(const RevisionId&, const proto::ColdStart&)> started;
  };

  /// All of it outlives this.
  explicit FrontFigures(Parts parts) : parts_{std::move(parts)} {}

  /// What the front door sees of the revision counts for `service` from now on, and until left().
  void entered(activator::RevisionHandle handle, const std::string& service);

  void left(activator::RevisionHandle handle) {
    by_handle_.leave(handle);
    times_.leave(handle);
  }

  /// The requests of a revision since the last call, which is made each second; nothing for one
  /// that the front door does not have.
  [[nodiscard]] std::optional<autoscaler::TrafficNote> take_traffic(const RevisionId& id);

  /// The service is removed. Its revisions may still drain; another service of that name begins
  /// without its figures.
  void forget(const std::string& service) { services_.erase(service); }

  /// A request has ended.
  void served(activator::RevisionHandle handle, const activator::Served& served);

  /// The cold start that a held request ends: publishes it once, and returns its header lines;
  /// empty when no replica is ready.
  [[nodiscard]] std::string cold_start(activator::RevisionHandle handle, TimePoint arrived,
                                       TimePoint dispatched);

  [[nodiscard]] Counted counted(const autoscaler::Revision& revision) const override;
  [[nodiscard]] nlohmann::json memory() const override;
  void complete(const autoscaler::Revision& revision, nlohmann::json& status) const override;
  void complete_replica(const autoscaler::Revision& revision, const PodId& pod,
                        nlohmann::json& replica) const override;
  void complete_place(nlohmann::json& place) const override;
  [[nodiscard]] std::vector<RevisionId> sharing(const RevisionId& revision) const override;
  [[nodiscard]] nlohmann::json last_cold_start(const autoscaler::Revision& revision) const override;
  [[nodiscard]] nlohmann::json callers(const autoscaler::Revision& revision) const override;
  void complete_explanation(const autoscaler::Revision& revision,
                            nlohmann::json& explanation) const override;

  void complete_version(nlohmann::json& version) const override { parts_.version(version); }

 private:
  struct Service {
    Callers callers;
    autoscaler::LatencyWindow latency;
    std::uint64_t errors = 0;   // FrontFacts::Counted
    std::uint64_t refused = 0;  // likewise
    std::optional<nlohmann::json> last_cold_start;
    TimePoint cold_start_told{};  // creation of the replica whose cold start was reported last
  };

  [[nodiscard]] const Service* find(const std::string& service) const;
  [[nodiscard]] nlohmann::json not_ready(const autoscaler::Revision& revision) const;

  Parts parts_;
  std::map<std::string, std::shared_ptr<Service>> services_;
  ByHandle<Service> by_handle_;
  ByHandle<ServiceTimes> times_;
};

}  // namespace sluice::local
