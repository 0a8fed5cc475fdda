#pragma once

#include "queue-proxy/core/request_record.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::queue_proxy {

/// Fields `.Revision.*` of a template.
struct LoggedRevision {
  std::string name;
  std::string space;
  std::string service;
  std::string configuration;
  std::string pod;
  std::string pod_ip;
};

/// The template of a request log, cut into pieces once so that a line is only put together
/// (queue-proxy.md 12 and 15.11). It knows literal text, `{{.Path.To.Field}}` and
/// `{{js .Path.To.Field}}`; with anything else it writes the default line and says so in `warning`.
class RequestLog {
 public:
  /// The reference's default. Its lines differ from what the reference makes of it where that would
  /// not be JSON: an apostrophe is \u0027 and a byte that is no UTF-8 is \uFFFD.
  static const std::string_view kDefaultTemplate;

  /// An empty text makes a log that writes nothing.
  RequestLog(std::string_view text, const LoggedRevision& revision);

  [[nodiscard]] bool enabled() const { return !segments_.empty(); }

  /// What is wrong with the template; empty when it is used as given.
  [[nodiscard]] const std::string& warning() const { return warning_; }

  /// Appends the line of one request, its line feed included.
  void append(std::string& out, const RequestRecord& record) const;

 private:
  enum class Field : std::uint8_t {
    literal,
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
  };
  enum class Escape : std::uint8_t { none, js, json };

  struct Segment {
    Field field = Field::literal;
    Escape escape = Escape::none;
    std::string text;  // of a literal
  };

  struct Name;

  [[nodiscard]] bool compile(std::string_view text, const LoggedRevision& revision, bool json);
  [[nodiscard]] bool add_action(std::string_view action, const LoggedRevision& revision, bool json);
  void add_literal(std::string_view text);
  static void append_escaped(std::string& out, std::string_view text, Escape escape);
  static void append_path(std::string& out, std::string_view target, Escape escape);
  [[nodiscard]] static std::string_view text_of(Field field, const RequestRecord& record);

  std::vector<Segment> segments_;
  std::string warning_;
};

}  // namespace sluice::queue_proxy
