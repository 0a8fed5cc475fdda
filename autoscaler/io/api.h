#pragma once

#include "autoscaler/core/nodes/node_book.h"
#include "autoscaler/io/fleet.h"
#include "autoscaler/io/front_facts.h"
#include "autoscaler/io/history.h"
#include "autoscaler/io/services_api.h"
#include "autoscaler/placement/core/placement.h"
#include "autoscaler/placement/io/mover.h"
#include "common/api/event_ring.h"
#include "common/base/ids.h"
#include "common/time/time_point.h"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// What the API shows of the program itself.
struct ApiFacts {
  std::string name;      ///< of this replica
  std::string version;   ///< of this build
  std::string platform;  ///< as SLUICE_PLATFORM has it
  TimePoint started{};
};

/// The answers of the API (protocols.md 5) about the revisions that this program governs.
class Api final : public ServicesApi {
 public:
  /// All references outlive this.
  struct Parts {
    const Fleet& fleet;
    const FleetEvents& seen;
    const History& history;
    const ActivatorHub& hub;
    const NodeBook* nodes;  ///< null where there are none
    const placement::Placement& placement;
    api::EventRing& events;
    const FrontFacts* front = nullptr;  ///< null in a cluster
    Mover* mover = nullptr;             ///< null where nothing is moved between places
    /// Which other replica governs a revision of that name, if there is one, as `POD at ADDRESS`;
    /// empty: none is known. Absent where there is one replica.
    std::function<std::string(const RevisionId&)> elsewhere = {};
  };

  Api(ApiFacts facts, const Parts& parts) : facts_{std::move(facts)}, parts_{parts} {}

  std::size_t service_count() override;
  std::vector<RevisionId> listed(std::size_t begin, std::size_t end) override;
  nlohmann::json status_of(const RevisionId& revision) override;
  ApiResult<nlohmann::json> service(const ServiceName& name) override;
  ApiResult<nlohmann::json> explain(const ServiceName& name, std::optional<TimePoint> at) override;
  ApiResult<std::unique_ptr<KeptRecords>> history(const ServiceName& name,
                                                  TimePoint since) override;
  nlohmann::json not_kept(const ServiceName& name, TimePoint since) override;
  ApiResult<http::AnswerParts> recording(const ServiceName& name, TimePoint since) override;
  ApiResult<nlohmann::json> wake(const ServiceName& name) override;
  ApiResult<nlohmann::json> sleep(const ServiceName& name) override;
  ApiResult<nlohmann::json> scale(const ServiceName& name, const ScaleBounds& bounds) override;
  nlohmann::json version() override;
  nlohmann::json nodes() override;
  nlohmann::json places() override;
  nlohmann::json moves() override;
  ApiResult<nlohmann::json> move(const ServiceName& name, const std::string& to) override;
  ApiResult<nlohmann::json> drain(const std::string& place, bool drain) override;
  nlohmann::json config() override;

  api::EventRing& events() override { return parts_.events; }

  /// The revision that a path means; null: there is none.
  [[nodiscard]] Revision* find(const ServiceName& name) const;

  [[nodiscard]] http::ApiProblem no_such_service(const ServiceName& name) const;

  [[nodiscard]] nlohmann::json status(const Revision& revision) const;

 private:
  void explain_places(const Revision& revision, nlohmann::json& answer) const;
  [[nodiscard]] ApiResult<Revision*> find_to_change(const ServiceName& name) const;

  ApiFacts facts_;
  Parts parts_;
};

}  // namespace sluice::autoscaler
