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
  enum class Kind : std::uint8_t { tcp, http, none };

  Kind kind = Kind::none;
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  std::string path = "/";
  std::vector<std::pair<std::string, std::string>> headers;
  Duration period{0};   ///< 0: aggressive
  Duration timeout{0};  ///< of one attempt when not aggressive; 0 = none
  int success_threshold = 1;
  std::string refusal;  ///< why a probe of kind none never passes

  friend bool operator==(const ProbeSpec&, const ProbeSpec&) = default;
};

/// One probe run: when to try, and when to stop. An aggressive run tries a TCP connect at once and
/// every 2 ms for 2 s, then every 50 ms, for at most 10 s; an HTTP probe waits for the port that way
/// and then tries with 2 ms doubling to 50 ms between attempts (queue-proxy.md 15.6). The count of
/// consecutive successes survives between runs and is reset by a failure only.
class ProbeRun {
 public:
  enum class Step : std::uint8_t { connect, http, passed, failed };

  struct Next {
    Step step;
    Duration after{0};    ///< wait before the attempt
    Duration timeout{0};  ///< of the attempt
  };

  explicit ProbeRun(const ProbeSpec& spec) : spec_{spec} {}

  /// Starts a run at `now`.
  Next begin(TimePoint now);

  /// An attempt has ended.
  Next attempted(bool success, TimePoint now);

 private:
  [[nodiscard]] Next aggressive_next(TimePoint now);

  ProbeSpec spec_;
  TimePoint begun_{};
  Duration http_gap_{0};
  int successes_ = 0;
  bool port_open_ = false;
};

}  // namespace sluice::queue_proxy
