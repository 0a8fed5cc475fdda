#pragma once

#include "common/http/message.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::log {

/// Fields `.Revision.*` of a template.
struct LoggedRevision {
  std::string name;
  std::string space;
  std::string service;
  std::string configuration;
  std::string pod;
  std::string pod_ip;
};

/// One request that has ended, as its line sees it. Borrowed views; lives for the length of a call.
struct LoggedRequest {
  const http::RequestHead& head;
  const LoggedRevision& revision;
  std::string_view peer_ip{};  ///< empty for a Unix socket
  int status = 0;
  Duration latency{};
  std::uint64_t response_bytes = 0;  ///< content of the answer's body that went to the client
};

/// The id of the trace a request belongs to, for logs: the second field of `traceparent`, else
/// `X-B3-Traceid`, else empty (queue-proxy.md 13, rows 66 and 67).
[[nodiscard]] std::string_view trace_id(const http::FieldList& fields);

/// The template of a request log, cut into pieces once so that a line is only put together
/// (queue-proxy.md 12, 15.11 and 15.20). It supports literal text, `{{.Path.To.Field}}`,
/// `{{.Request.Header.Get "Name"}}` (the first value), `{{index .Request.Header "Name"}}` (all of
/// them, in brackets) and `{{js ...}}` of each; with anything else it writes the default line and
/// sets `warning`.
class RequestLog {
 public:
  /// The reference's default. Its lines differ from what the reference makes of it where that would
  /// not be JSON: an apostrophe is \u0027 and a byte that is no UTF-8 is \uFFFD.
  static const std::string_view kDefaultTemplate;

  /// An empty text makes a log that writes nothing.
  explicit RequestLog(std::string_view text);

  [[nodiscard]] bool enabled() const { return !segments_.empty(); }

  /// What is wrong with the template; empty when it is used as given.
  [[nodiscard]] const std::string& warning() const { return warning_; }

  /// Appends the line of one request, its line feed included.
  void append(std::string& out, const LoggedRequest& request) const;

 private:
  enum class Field : std::uint8_t {
    literal,
    header,   // its first value
    headers,  // all values
    method,
    url,
    path,
    query,
    request_uri,
    host,
    proto,
    proto_major,
    proto_minor,
    content_length,
    remote_addr,
    user_agent,
    referer,
    code,
    size,
    latency,
    trace_id,
    revision_name,
    revision_space,
    revision_service,
    revision_configuration,
    revision_pod,
    revision_pod_ip,
  };
  enum class Escape : std::uint8_t { none, js, json };

  struct Segment {
    Field field = Field::literal;
    Escape escape = Escape::none;
    std::string text;  // of a literal, or the name of a header
  };

  struct Name;

  [[nodiscard]] bool compile(std::string_view text, bool json);
  [[nodiscard]] bool add_action(std::string_view action, bool json);
  [[nodiscard]] bool add_header(std::string_view path, Escape escape);
  void add_literal(std::string_view text);
  static void append_escaped(std::string& out, std::string_view text, Escape escape);
  static void append_path(std::string& out, std::string_view target, Escape escape);
  static void append_headers(std::string& out, const http::FieldList& fields,
                             const Segment& segment);
  [[nodiscard]] static std::string_view text_of(Field field, const LoggedRequest& request);

  std::vector<Segment> segments_;
  std::string warning_;
};

}  // namespace sluice::log
