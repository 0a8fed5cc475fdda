#pragma once

#include "autoscaler/io/kept_records.h"
#include "common/api/api_text.h"
#include "common/api/event_ring.h"
#include "common/base/ids.h"
#include "common/base/result.h"
#include "common/time/time_point.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::autoscaler {

template <class T>
using ApiResult = Result<T, http::ApiProblem>;

/// A service, or where no service has that name a revision by its own, as a path of the API names
/// it.
struct ServiceName {
  std::string space;
  std::string name;
};

/// New bounds of `scale`; an absent one stays as it is.
struct ScaleBounds {
  std::optional<std::int32_t> min;
  std::optional<std::int32_t> max;
};

/// 422 for a document or a value that is not accepted.
[[nodiscard]] http::ApiProblem invalid_document(std::string detail, std::string fix);

/// What the routes call in every form: services, their decisions and events. Called on the loop;
/// returns at once. The JSON bodies are those of protocols.md 5.
class ServicesApi {
 public:
  ServicesApi() = default;
  ServicesApi(const ServicesApi&) = delete;
  ServicesApi& operator=(const ServicesApi&) = delete;
  virtual ~ServicesApi() = default;

  [[nodiscard]] virtual std::size_t service_count() = 0;

  /// The revisions in service in the order of their names, from place `begin` to before `end`,
  /// which is at most service_count().
  [[nodiscard]] virtual std::vector<RevisionId> listed(std::size_t begin, std::size_t end) = 0;

  /// The status object of one of them; null: it is gone.
  [[nodiscard]] virtual nlohmann::json status_of(const RevisionId& revision) = 0;

  /// An array of the status objects of listed().
  [[nodiscard]] nlohmann::json service_list(std::size_t begin, std::size_t end);

  /// One status object.
  [[nodiscard]] virtual ApiResult<nlohmann::json> service(const ServiceName& name) = 0;

  /// The decision in force at `at` (now when absent) with "inputs", "last_cold_start" (the last one
  /// by then, an event object or null) and, of now only, "keeps_awake": [{"client","request",
  /// "count"}].
  [[nodiscard]] virtual ApiResult<nlohmann::json> explain(const ServiceName& name,
                                                          std::optional<TimePoint> at) = 0;

  /// Decisions that changed something since `since`, newest last.
  [[nodiscard]] virtual ApiResult<std::unique_ptr<KeptRecords>> history(const ServiceName& name,
                                                                        TimePoint since) = 0;

  /// What history() lacks since `since`: an array of {"from","to","count","reason","lasts"}, empty
  /// when nothing is missing.
  [[nodiscard]] virtual nlohmann::json not_kept(const ServiceName& name, TimePoint since) = 0;

  /// What the scaler of `name` got and decided since `since`, as far as it is kept: a JSON object a
  /// line (docs/reference/recordings.md).
  [[nodiscard]] virtual ApiResult<http::AnswerParts> recording(const ServiceName& name,
                                                               TimePoint since) = 0;

  /// At least one replica now. Answers the status; readiness comes later.
  [[nodiscard]] virtual ApiResult<nlohmann::json> wake(const ServiceName& name) = 0;

  /// Drains to zero now; the next request wakes it. Answers the status.
  [[nodiscard]] virtual ApiResult<nlohmann::json> sleep(const ServiceName& name) = 0;

  /// Live bounds, forgotten when the spec next changes. Answers the status.
  [[nodiscard]] virtual ApiResult<nlohmann::json> scale(const ServiceName& name,
                                                        const ScaleBounds& bounds) = 0;

  /// Who this is and since when.
  [[nodiscard]] virtual nlohmann::json version() = 0;

  /// Reports of the nodes, ordered by name; null: this form has no such list.
  [[nodiscard]] virtual nlohmann::json nodes() = 0;

  /// Where replicas can run, the most liked place first.
  [[nodiscard]] virtual nlohmann::json places() = 0;

  /// Moves between places, the newest first.
  [[nodiscard]] virtual nlohmann::json moves() = 0;

  /// Moves all replicas of a service to a place. Answers {"moves":[ID…],"asleep":bool}.
  [[nodiscard]] virtual ApiResult<nlohmann::json> move(const ServiceName& name,
                                                       const std::string& to) = 0;

  /// Empties a place, or lets replicas go there again. Answers the place.
  [[nodiscard]] virtual ApiResult<nlohmann::json> drain(const std::string& place, bool drain) = 0;

  /// The keys of `config-autoscaler` in force; null: this form does not show them.
  [[nodiscard]] virtual nlohmann::json config() = 0;

  /// The events of all of them; outlives every session of the API server.
  [[nodiscard]] virtual api::EventRing& events() = 0;
};

/// Whether a spec is written with the values of its environment and of its probe's headers.
enum class Values : std::uint8_t { shown, hidden };

/// Which lines `logs` prints.
struct LogQuery {
  std::size_t tail = 100;          ///< newest lines, 0..10000
  std::string replica;             ///< only this replica id; empty: all
  bool previous = false;           ///< only replicas that are gone
  bool times = false;              ///< each line with its time and the number of the start
  std::optional<TimePoint> since;  ///< only lines of then and later
};

/// One line of a replica's output.
struct OutputLine {
  std::string time;        ///< RFC 3339
  std::string replica;     ///< its id
  std::int64_t start = 0;  ///< which start of a replica of the service it is; 0: not recorded
  std::string text;
};

/// `line` as `logs` answers it, ended by a newline: `app-00001-1 | text`, and with `times`
/// `2026-11-20T14:03:12.061Z app-00001-1#3 | text`.
[[nodiscard]] std::string output_text(const OutputLine& line, bool times);

/// What `logs` answers.
struct ServiceLines {
  std::string text;
  std::string service;   ///< whose replicas have printed it
  std::string revision;  ///< the only one of that service; empty: all of them
};

/// What the end of an engine came to: `stopped N replicas, M requests cut`.
struct ShutdownResult {
  std::int64_t stopped = 0;  ///< replicas that ran when the shutdown began
  std::int64_t cut = 0;      ///< requests that did not get their whole answer
};

/// How a document is applied.
struct ApplyMode {
  bool dry_run = false;  ///< nothing changes
  bool write = false;    ///< into the watched file that defines the service
  std::string base;      ///< directory of the document; empty: the engine's own
};

/// What a session adds to an engine: a command's service, or files.
struct MachineSession {
  std::string answer;  ///< the first line, a JSON object without a newline
  /// Whether an event is of the session's services.
  std::function<bool(const std::string& service)> covers;
  /// Its destruction ends the session, and with it what it added; null: that stays.
  std::shared_ptr<void> hold = {};
};

/// What only an engine that owns specs and replicas answers besides: `sluice up`.
class MachineApi {
 public:
  MachineApi() = default;
  MachineApi(const MachineApi&) = delete;
  MachineApi& operator=(const MachineApi&) = delete;
  virtual ~MachineApi() = default;

  /// The service's YAML document as a file would have it, with or without the values of its
  /// environment.
  [[nodiscard]] virtual ApiResult<std::string> spec_yaml(const std::string& name,
                                                         Values values) = 0;

  /// Gets what came of an apply, once, on the engine's thread.
  using AppliedDone = std::function<void(const ApiResult<nlohmann::json>&)>;

  /// Adds or changes the services of `yaml`; with `write` it holds one. Answers {"items":[{
  /// "service","result","revision","difference":[{"key","old","new"}]}],"warnings"}, result one of
  /// created, configured, unchanged, and refused with "detail" and "fix". A problem is of all that
  /// is wrong with them, and nothing has changed. A service that is defined in a watched file is
  /// changed there only: 409 without `write`.
  virtual void apply(const std::string& yaml, const ApplyMode& mode, AppliedDone done) = 0;

  /// Adds the services of a second `up` (protocols.md 5, POST /sessions).
  [[nodiscard]] virtual ApiResult<MachineSession> begin_session(const nlohmann::json& asked) = 0;

  /// The revisions of a service, the newest first: an array of
  /// {"revision","latest","state","ready", "starting","draining","percent","tags","url","created"}.
  /// `state` is `kept` for one of which only the spec is there.
  [[nodiscard]] virtual ApiResult<nlohmann::json> revisions(const std::string& name) = 0;

  /// Divides the service's requests as {"percents":[{"revision","percent"}],"tags":[{"revision",
  /// "tag"}],"untags":[]} says. Answers as revisions(). A service whose traffic is defined in a
  /// watched file is changed there only: 409 without `write`.
  [[nodiscard]] virtual ApiResult<nlohmann::json> set_traffic(const std::string& name,
                                                              const nlohmann::json& change,
                                                              bool write) = 0;

  /// Removes the service; its replicas drain. Answers the last status.
  [[nodiscard]] virtual ApiResult<nlohmann::json> remove(const std::string& name) = 0;

  /// Judges the policies of a `config.yaml`, or of what is below its `placement`, and answers what
  /// each would choose now: {"policies":[{"name","mode","select","decides","places"}]}. Nothing
  /// changes.
  [[nodiscard]] virtual ApiResult<nlohmann::json> check_policies(const std::string& yaml) = 0;

  /// Output lines of replicas, oldest first, as output_text() has them.
  [[nodiscard]] virtual ApiResult<ServiceLines> logs(const std::string& name,
                                                     const LogQuery& query) = 0;

  /// Whether the front door is open and no shutdown has begun.
  [[nodiscard]] virtual bool ready() = 0;

  /// Prometheus text format.
  [[nodiscard]] virtual std::string metrics_text() = 0;

  /// Starts the stop sequence of one-machine.md 5.8, as SIGTERM would, and calls `done` on the
  /// engine's thread when all replicas are gone. The API server must still be served for a moment
  /// afterwards, so that the caller reads the result. A second call only adds its `done`.
  virtual void begin_shutdown(std::function<void(const ShutdownResult&)> done) = 0;
};

}  // namespace sluice::autoscaler
