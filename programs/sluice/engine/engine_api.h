#pragma once

#include "common/api/api_text.h"
#include "common/base/result.h"
#include "common/time/time_point.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::local {

class EventRing;

using http::ApiProblem;

/// 404 for `service`, listing the services there are.
[[nodiscard]] ApiProblem no_such_service(std::string_view service,
                                         const std::vector<std::string>& known);

/// 404 for a path below which there is nothing.
[[nodiscard]] ApiProblem no_such_path(std::string_view path);

/// 422 for a document or a value that is not accepted.
[[nodiscard]] ApiProblem invalid_document(std::string detail, std::string fix);

/// Whether a spec is written with the values of its environment and of its probe's headers.
enum class Values : std::uint8_t { shown, hidden };

template <class T>
using ApiResult = Result<T, ApiProblem>;

/// What the end of an engine came to: `stopped N replicas, M requests cut`.
struct ShutdownResult {
  std::int64_t stopped = 0;  ///< replicas that ran when the shutdown began
  std::int64_t cut = 0;      ///< requests that did not get their whole answer
};

/// Which lines `logs` wants.
struct LogQuery {
  std::size_t tail = 100;  ///< newest lines, 0..10000
  std::string replica;     ///< only this replica id; empty: all
  bool previous = false;   ///< only replicas that are gone
};

/// New bounds of `scale`; an absent one stays as it is.
struct ScaleBounds {
  std::optional<std::int32_t> min;
  std::optional<std::int32_t> max;
};

/// What a running engine answers to its API. Every method is called on the engine's thread and
/// returns at once. Service names carry no namespace: on one machine it is always "default".
///
/// The JSON bodies are those of protocols.md 5. Events published to events() are objects with a
/// `type` (one-machine.md 7): engine, service, replica, decision, cold_start, log, warning, error.
class EngineApi {
 public:
  EngineApi() = default;
  EngineApi(const EngineApi&) = delete;
  EngineApi& operator=(const EngineApi&) = delete;
  virtual ~EngineApi() = default;

  /// An array of status objects, ordered by name.
  [[nodiscard]] virtual nlohmann::json services() = 0;

  /// One status object.
  [[nodiscard]] virtual ApiResult<nlohmann::json> service(const std::string& name) = 0;

  /// The service's YAML document as a file would have it, with or without the values of its
  /// environment.
  [[nodiscard]] virtual ApiResult<std::string> spec_yaml(const std::string& name,
                                                         Values values) = 0;

  /// Adds or changes the one service of `yaml`. Answers {"service","result","revision",
  /// "difference":[{"key","old","new"}]}, result one of created, configured, unchanged;
  /// with `dry_run` nothing changes.
  [[nodiscard]] virtual ApiResult<nlohmann::json> apply(const std::string& yaml, bool dry_run) = 0;

  /// Removes the service; its replicas drain. Answers the last status.
  [[nodiscard]] virtual ApiResult<nlohmann::json> remove(const std::string& name) = 0;

  /// The decision in force at `at` (now when absent) in the shape of protocols.md 5, with
  /// "inputs", "last_cold_start" (the last one by then, an event object or null) and, of now only,
  /// "keeps_awake": [{"client","request","count"}].
  [[nodiscard]] virtual ApiResult<nlohmann::json> explain(const std::string& name,
                                                          std::optional<TimePoint> at) = 0;

  /// Decisions that changed something since `since`, an array, newest last.
  [[nodiscard]] virtual ApiResult<nlohmann::json> history(const std::string& name,
                                                          TimePoint since) = 0;

  /// Output lines of replicas, oldest first, each `app-00001-1 | text` and ended by a newline.
  [[nodiscard]] virtual ApiResult<std::string> logs(const std::string& name,
                                                    const LogQuery& query) = 0;

  /// At least one replica now. Answers the status; readiness comes later.
  [[nodiscard]] virtual ApiResult<nlohmann::json> wake(const std::string& name) = 0;

  /// Drains to zero now; the next request wakes it. Answers the status.
  [[nodiscard]] virtual ApiResult<nlohmann::json> sleep(const std::string& name) = 0;

  /// Live bounds, forgotten when the spec is next applied. Answers the status.
  [[nodiscard]] virtual ApiResult<nlohmann::json> scale(const std::string& name,
                                                        const ScaleBounds& bounds) = 0;

  /// {"name","pid","http","version","started"}; `http` is the front door's host:port.
  [[nodiscard]] virtual nlohmann::json info() = 0;

  /// Whether the front door is open and no shutdown has begun.
  [[nodiscard]] virtual bool ready() = 0;

  /// Prometheus text format.
  [[nodiscard]] virtual std::string metrics_text() = 0;

  /// Starts the stop sequence of one-machine.md 5.8, as SIGTERM would, and calls `done` on the
  /// engine's thread when all replicas are gone. The API server must still be served for a moment
  /// afterwards, so that the caller reads the result. A second call only adds its `done`.
  virtual void begin_shutdown(std::function<void(const ShutdownResult&)> done) = 0;

  /// The ring of events; outlives every session of the API server.
  [[nodiscard]] virtual EventRing& events() = 0;
};

}  // namespace sluice::local
