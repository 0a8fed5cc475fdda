#pragma once

#include "common/model/revision.h"
#include "common/scaling/cluster_config.h"
#include "common/scaling/scaling_spec.h"

#include <nlohmann/json.hpp>

#include "platform/knative/core/pod_autoscaler_plan.h"
#include <optional>
#include <string>

// What an API server has of one revision of Knative, as documents, and one look at it: decoded,
// planned, and written back as the requests say. What a case of the vectors tells goes into the
// documents, and what it expects is read from those that were written.
namespace sluice::autoscaler::testing {

inline constexpr TimePoint kNow{std::chrono::seconds{1'800'000'000}};

/// What one look has written; absent: nothing of that object.
struct Written {
  std::optional<std::int32_t> replicas;
  std::optional<nlohmann::json> status;      ///< of the PodAutoscaler
  std::optional<nlohmann::json> serverless;  ///< its spec

  [[nodiscard]] bool anything() const { return replicas || status || serverless; }
};

struct RevisionDocuments {
  /// A revision whose Services are in order, that runs so many replicas.
  RevisionDocuments(const StringMap& annotations, const std::string& reachability,
                    std::int32_t replicas);

  /// Condition Active: "active", "activating" or "inactive", for so long.
  void set_active(const std::string& state, Duration lasts);
  void set_initialized(bool initialized);
  void set_desired(std::int32_t desired);

  /// Neither it nor its ServerlessService has a Service yet.
  void without_services();

  /// Mode of the ServerlessService, and for how long it has been proxied: without pods it is,
  /// whatever its mode.
  void set_mode(const std::string& mode, Duration proxied);

  [[nodiscard]] std::string state() const;
  [[nodiscard]] const nlohmann::json& condition(const std::string& type) const;
  [[nodiscard]] std::optional<std::int32_t> shown_desired() const;
  [[nodiscard]] std::string mode() const;
  [[nodiscard]] std::int32_t replicas() const;

  /// What the scaler receives.
  [[nodiscard]] model::Revision watched() const;

  /// As Fleet and KnativePlatform read it: an annotation that is wrong counts as absent.
  [[nodiscard]] ScalingSpec scaling(const ClusterConfig& config) const;

  /// One look: all three plans, and what they ask for as the API server would keep it.
  Written reconcile(const ClusterConfig& config, const std::optional<ScaleOrder>& order,
                    std::int32_t ready);

  nlohmann::json pod_autoscaler;
  nlohmann::json serverless;
  nlohmann::json deployment;

 private:
  nlohmann::json& status_condition(const std::string& type);
};

}  // namespace sluice::autoscaler::testing
