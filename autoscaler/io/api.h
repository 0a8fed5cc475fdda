#pragma once

#include "autoscaler/core/nodes/node_book.h"
#include "autoscaler/io/decision_ring.h"
#include "autoscaler/io/fleet.h"
#include "common/api/api_text.h"
#include "common/base/ids.h"
#include "common/net/server/own_gateway.h"
#include "common/time/clock.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace sluice::autoscaler {

/// What the API says of the program itself.
struct ApiFacts {
  std::string name;      ///< of this replica
  std::string version;   ///< of this build
  std::string platform;  ///< as SLUICE_PLATFORM has it
  TimePoint started{};
};

/// The HTTP+JSON API of the autoscaler, GET only (protocols.md 5): changes are made on the objects
/// of the platform.
class Api final : public net::OwnGateway {
 public:
  /// All references outlive this.
  Api(ApiFacts facts, const Clock& clock, const Fleet& fleet, const DecisionRing& ring,
      const ActivatorHub& hub, const NodeBook& nodes);

  void begin(net::Exchange& exchange) override;

  /// The answer to a GET of `target`.
  [[nodiscard]] http::ApiAnswer answer(std::string_view target) const;

 private:
  [[nodiscard]] http::ApiAnswer service_answer(const http::ApiTarget& target) const;
  [[nodiscard]] http::ApiAnswer history_answer(const Revision& revision,
                                               const http::ApiTarget& target) const;
  [[nodiscard]] http::ApiAnswer explain_answer(const Revision& revision,
                                               const http::ApiTarget& target) const;
  [[nodiscard]] const Revision* find(const std::string& space, const std::string& name) const;
  [[nodiscard]] nlohmann::json version() const;
  [[nodiscard]] http::ApiAnswer services(const http::ApiTarget& target) const;
  [[nodiscard]] http::ApiAnswer nodes(const http::ApiTarget& target) const;

  ApiFacts facts_;
  const Clock& clock_;
  const Fleet& fleet_;
  const DecisionRing& ring_;
  const ActivatorHub& hub_;
  const NodeBook& nodes_;
};

/// The status object of protocols.md 5. Null: what only activators know.
[[nodiscard]] nlohmann::json status_json(const Revision& revision);

/// A node as its agent last reported it.
[[nodiscard]] nlohmann::json node_json(const std::string& name, const NodeBook::Node& node);

/// The cluster's configuration by the keys of `config-autoscaler`.
[[nodiscard]] nlohmann::json config_json(const ClusterConfig& config);

}  // namespace sluice::autoscaler
