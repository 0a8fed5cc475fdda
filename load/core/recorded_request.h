#pragma once

#include "load/core/trace.h"
#include "load/core/trace_time.h"
#include <optional>
#include <string_view>

// What formats have in common that name the parts of a request.
namespace sluice::loadgen {

/// A request as one line, or one entry, tells of it.
struct RecordedRequest {
  TraceCell cell;
  std::optional<RequestTime> time;
  bool at_end = false;  ///< `time` is when it ended, and it began by its duration before

  /// Nothing is known of it.
  void clear();
};

/// Puts a request target into `cell`: a path with its query, or an absolute URL of http or https,
/// of which host and path are kept and a name with a password before the host is not. False, and
/// nothing is put: it is none, for example the bytes of a TLS handshake, or is not for HTTP.
[[nodiscard]] bool put_target(std::string_view target, TraceCell& cell);

/// The same of `GET /path HTTP/1.1`, with the method.
[[nodiscard]] bool put_request_line(std::string_view line, TraceCell& cell);

/// When `request` began; nothing: it has no time.
[[nodiscard]] std::optional<RequestTime> begin_of(const RecordedRequest& request);

}  // namespace sluice::loadgen
