#pragma once

#include "autoscaler/io/services_api.h"
#include "common/api/api_request.h"
#include "common/api/api_text.h"
#include "common/base/result.h"
#include "common/time/time_point.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::local {

using api::Event;
using api::EventFilter;
using api::EventRing;
using api::Proof;
using autoscaler::ApiResult;
using autoscaler::invalid_document;
using autoscaler::LogQuery;
using autoscaler::ScaleBounds;
using autoscaler::ShutdownResult;
using autoscaler::Values;
using http::ApiProblem;

/// 404 for `service`, listing the services there are.
[[nodiscard]] ApiProblem no_such_service(std::string_view service,
                                         const std::vector<std::string>& known);

/// 404 for a path below which there is nothing.
[[nodiscard]] ApiProblem no_such_path(std::string_view path);

/// What a running engine answers to its API. Every method is called on the engine's thread and
/// returns at once. Service names carry no namespace: on one machine it is always "default".
///
/// The JSON bodies are those of protocols.md 5. Events published to events() are objects with a
/// `type` (one-machine.md 7): engine, service, replica, decision, cold_start, log, warning, error.
class EngineApi : public autoscaler::MachineApi {
 public:
  /// An array of status objects, ordered by name.
  [[nodiscard]] virtual nlohmann::json services() = 0;

  /// One status object.
  [[nodiscard]] virtual ApiResult<nlohmann::json> service(const std::string& name) = 0;

  /// As autoscaler::ServicesApi has them, likewise the others.
  [[nodiscard]] virtual ApiResult<nlohmann::json> explain(const std::string& name,
                                                          std::optional<TimePoint> at) = 0;
  [[nodiscard]] virtual ApiResult<nlohmann::json> history(const std::string& name,
                                                          TimePoint since) = 0;
  [[nodiscard]] virtual ApiResult<nlohmann::json> wake(const std::string& name) = 0;
  [[nodiscard]] virtual ApiResult<nlohmann::json> sleep(const std::string& name) = 0;
  [[nodiscard]] virtual ApiResult<nlohmann::json> scale(const std::string& name,
                                                        const ScaleBounds& bounds) = 0;

  /// {"name","pid","http","version","started"}; `http` is the front door's host:port.
  [[nodiscard]] virtual nlohmann::json info() = 0;

  /// The ring of events; outlives every session of the API server.
  [[nodiscard]] virtual EventRing& events() = 0;
};

/// An engine as the routes ask it: the one namespace is "default".
class EngineServices final : public autoscaler::ServicesApi {
 public:
  explicit EngineServices(EngineApi& engine) : engine_{engine} {}

  std::size_t service_count() override;
  nlohmann::json service_list(std::size_t begin, std::size_t end) override;
  ApiResult<nlohmann::json> service(const autoscaler::ServiceName& name) override;
  ApiResult<nlohmann::json> explain(const autoscaler::ServiceName& name,
                                    std::optional<TimePoint> at) override;
  ApiResult<nlohmann::json> history(const autoscaler::ServiceName& name, TimePoint since) override;
  ApiResult<nlohmann::json> wake(const autoscaler::ServiceName& name) override;
  ApiResult<nlohmann::json> sleep(const autoscaler::ServiceName& name) override;
  ApiResult<nlohmann::json> scale(const autoscaler::ServiceName& name,
                                  const ScaleBounds& bounds) override;
  nlohmann::json version() override;
  nlohmann::json nodes() override;
  nlohmann::json config() override;
  EventRing& events() override;

 private:
  EngineApi& engine_;
};

}  // namespace sluice::local
