#pragma once

#include "common/base/result.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::queue_proxy {

/// One readiness probe of a container (queue-proxy.md 10).
struct ProbeSpec {
  enum class Kind : std::uint8_t { tcp, http, https, grpc, none };

  Kind kind = Kind::none;
  std::string host = "127.0.0.1";  ///< an IP address or `localhost`
  std::uint16_t port = 0;
  std::string path = "/";                                    ///< HTTP: request target, escaped
  std::string host_header;                                   ///< HTTP: empty = host and port
  std::vector<std::pair<std::string, std::string>> headers;  ///< HTTP: all others, well-formed
  bool detect_http2 = false;                                 ///< HTTP: h2c is tried first
  std::string service;                                       ///< gRPC: the service to check
  Duration period{0};                                        ///< 0: aggressive
  Duration timeout{0};  ///< of one attempt when not aggressive; 0 = none
  int success_threshold = 1;
  std::string refusal;  ///< why a probe of kind none never passes

  friend bool operator==(const ProbeSpec&, const ProbeSpec&) = default;
};

/// How one attempt ended.
enum class Attempt : std::uint8_t {
  passed,
  refused,  ///< no process accepts on the port
  failed,
};

/// One probe run: when to try, and when to stop. An aggressive run tries at once; while the port is
/// closed every 2 ms; once it accepts, TCP again every 2 ms and HTTP and gRPC with 2 ms doubling to
/// 50 ms between attempts; after 2 s always every 50 ms, for at most 10 s (queue-proxy.md 15.6).
/// Any other run is one attempt. The count of consecutive successes survives between runs and is
/// reset by a failure only.
class ProbeRun {
 public:
  enum class Step : std::uint8_t { attempt, passed, failed };

  struct Next {
    Step step;
    Duration after{0};    ///< wait before the attempt
    Duration timeout{0};  ///< of the attempt
  };

  explicit ProbeRun(const ProbeSpec& spec) : spec_{spec} {}

  /// Starts a run at `now`.
  [[nodiscard]] Next begin(TimePoint now);

  /// An attempt has ended.
  [[nodiscard]] Next attempted(Attempt outcome, TimePoint now);

  /// The line with the reason why this run failed; `last_error` is of its last attempt.
  [[nodiscard]] std::string failure(std::string_view last_error) const;

 private:
  [[nodiscard]] bool aggressive() const { return spec_.period == Duration{0}; }

  [[nodiscard]] Next again(Attempt outcome, TimePoint now);

  ProbeSpec spec_;
  TimePoint begun_{};
  Duration answer_gap_{0};  // to the next attempt at a port that accepts
  int successes_ = 0;
  int failures_ = 0;  // of this run
};

}  // namespace sluice::queue_proxy
