#include "common/log/request_log.h"

#include "common/base/clean_text.h"
#include "common/log/go_text.h"

#include <array>
#include <charconv>
#include <optional>

namespace sluice::log {

const std::string_view RequestLog::kDefaultTemplate =
    R"({"httpRequest": {"requestMethod": "{{.Request.Method}}", )"
    R"("requestUrl": "{{js .Request.RequestURI}}", )"
    R"("requestSize": "{{.Request.ContentLength}}", "status": {{.Response.Code}}, )"
    R"("responseSize": "{{.Response.Size}}", "userAgent": "{{js .Request.UserAgent}}", )"
    R"("remoteIp": "{{js .Request.RemoteAddr}}", "serverIp": "{{.Revision.PodIP}}", )"
    R"("referer": "{{js .Request.Referer}}", "latency": "{{.Response.Latency}}s", )"
    R"("protocol": "{{.Request.Proto}}"}, "traceId": "{{.TraceID}}"})";

struct RequestLog::Name {
  std::string_view path;
  Field field;
};

namespace {

constexpr std::string_view kSpaces = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

// As Go's http.Request.Proto.
std::string_view protocol(const http::RequestHead& head) {
  if (head.version_major >= 2) return "HTTP/2.0";
  return head.version_minor == 0 ? "HTTP/1.0" : "HTTP/1.1";
}

// As Go's http.Request.ContentLength: -1 when the body's end shows only when it comes.
std::int64_t content_length(const http::RequestHead& head) {
  switch (head.framing) {
    case http::Framing::none:
      return 0;
    case http::Framing::length:
      return static_cast<std::int64_t>(head.content_length);
    case http::Framing::chunked:
    case http::Framing::until_close:
      return -1;
  }
  return -1;
}

// What stands in quotes, in one of Go's two kinds and without escapes; nothing: it is no such text.
std::optional<std::string_view> unquoted(std::string_view text) {
  if (text.size() < 3 || text.front() != text.back()) return std::nullopt;
  if (text.front() != '"' && text.front() != '`') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  if (text.find_first_of("\"`\\") != std::string_view::npos) return std::nullopt;
  return text;
}

// Passes over `word` and what parts it from the next one.
bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word) || text.size() == word.size() ||
      kSpaces.find(text[word.size()]) == std::string_view::npos) {
    return false;
  }
  text = trimmed(text.substr(word.size()));
  return true;
}

std::string_view query_of(std::string_view target) {
  const std::size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view{} : target.substr(mark + 1);
}

}  // namespace

std::string_view trace_id(const http::FieldList& fields) {
  std::string_view parent = fields.find("traceparent");
  if (const std::size_t dash = parent.find('-'); dash != std::string_view::npos) {
    parent.remove_prefix(dash + 1);
    return parent.substr(0, parent.find('-'));
  }
  return fields.find("x-b3-traceid");
}

RequestLog::RequestLog(std::string_view text) {
  if (text.empty()) return;
  // A template that comes from the default by way of the controller is the default.
  const bool is_default = trimmed(text) == kDefaultTemplate;
  if (!compile(is_default ? kDefaultTemplate : text, is_default)) {
    segments_.clear();
    if (!compile(kDefaultTemplate, true)) segments_.clear();
  }
  const bool line_ends = !segments_.empty() && segments_.back().field == Field::literal &&
                         segments_.back().text.ends_with('\n');
  if (!line_ends) add_literal("\n");
}

bool RequestLog::compile(std::string_view text, bool json) {
  while (!text.empty()) {
    const std::size_t open = text.find("{{");
    add_literal(text.substr(0, open));
    if (open == std::string_view::npos) return true;
    text.remove_prefix(open + 2);
    const std::size_t close = text.find("}}");
    if (close == std::string_view::npos) {
      warning_ = "the request log template has '{{' without '}}'";
      return false;
    }
    if (!add_action(text.substr(0, close), json)) return false;
    text.remove_prefix(close + 2);
  }
  return true;
}

bool RequestLog::add_action(std::string_view action, bool json) {
  static constexpr std::array<Name, 23> kNames{{
      {".Request.Method", Field::method},
      {".Request.URL", Field::url},
      {".Request.URL.Path", Field::path},
      {".Request.URL.RawQuery", Field::query},
      {".Request.RequestURI", Field::request_uri},
      {".Request.Host", Field::host},
      {".Request.Proto", Field::proto},
      {".Request.ProtoMajor", Field::proto_major},
      {".Request.ProtoMinor", Field::proto_minor},
      {".Request.ContentLength", Field::content_length},
      {".Request.RemoteAddr", Field::remote_addr},
      {".Request.UserAgent", Field::user_agent},
      {".Request.Referer", Field::referer},
      {".Response.Code", Field::code},
      {".Response.Size", Field::size},
      {".Response.Latency", Field::latency},
      {".TraceID", Field::trace_id},
      {".Revision.Name", Field::revision_name},
      {".Revision.Namespace", Field::revision_space},
      {".Revision.Service", Field::revision_service},
      {".Revision.Configuration", Field::revision_configuration},
      {".Revision.PodName", Field::revision_pod},
      {".Revision.PodIP", Field::revision_pod_ip},
  }};
  std::string_view path = trimmed(action);
  Escape escape = json ? Escape::json : Escape::none;
  if (take_word(path, "js")) {
    if (!json) escape = Escape::js;
    if (path.size() > 1 && path.front() == '(' && path.back() == ')') {
      path = trimmed(path.substr(1, path.size() - 2));
    }
  }
  if (add_header(path, escape)) return true;
  for (const Name& name : kNames) {
    if (path != name.path) continue;
    segments_.push_back({name.field, escape, {}});
    return true;
  }
  const std::string_view shown = action.substr(0, 80);
  const bool simple = path.find_first_of(" |()\"") == std::string_view::npos && !path.empty();
  warning_ = "the request log template's action '{{" + std::string{shown} + "}}' " +
             (simple ? "names an unknown field" : "is not a field, a header, or js of one of them");
  return false;
}

bool RequestLog::add_header(std::string_view path, Escape escape) {
  Field field = Field::header;
  if (take_word(path, "index")) {
    field = Field::headers;
    if (!take_word(path, ".Request.Header")) return false;
  } else if (!take_word(path, ".Request.Header.Get")) {
    return false;
  }
  const auto name = unquoted(path);
  if (!name) return false;
  segments_.push_back({field, escape, std::string{*name}});
  return true;
}

// As Go prints a list. Host is none of a request's headers there.
void RequestLog::append_headers(std::string& out, const http::FieldList& fields,
                                const Segment& segment) {
  const bool all = segment.field == Field::headers;
  const bool host = http::equals_ignoring_case(segment.text, "host");
  if (all) out.push_back('[');
  bool first = true;
  for (std::size_t i = 0; i < fields.size() && !host; ++i) {
    const http::Field field = fields.at(i);
    if (!http::equals_ignoring_case(field.name, segment.text)) continue;
    if (!first) out.push_back(' ');
    append_escaped(out, field.value, segment.escape);
    if (!all) return;
    first = false;
  }
  if (all) out.push_back(']');
}

void RequestLog::append_escaped(std::string& out, std::string_view text, Escape escape) {
  switch (escape) {
    case Escape::none:
      append_clean(out, text);
      break;
    case Escape::js:
      append_js(out, text);
      break;
    case Escape::json:
      append_json(out, text);
      break;
  }
}

void RequestLog::append(std::string& out, const LoggedRequest& request) const {
  for (const Segment& segment : segments_) {
    switch (segment.field) {
      case Field::literal:
        out.append(segment.text);
        break;
      case Field::header:
      case Field::headers:
        append_headers(out, request.head.fields, segment);
        break;
      case Field::proto_major:
        http::append_number(out, request.head.version_major);
        break;
      case Field::proto_minor:
        http::append_number(out, request.head.version_major >= 2 ? 0 : request.head.version_minor);
        break;
      case Field::content_length:
        http::append_number(out, content_length(request.head));
        break;
      case Field::code:
        http::append_number(out, request.status);
        break;
      case Field::size:
        http::append_number(out, request.response_bytes);
        break;
      case Field::latency:
        append_go_float(out, to_seconds(request.latency));
        break;
      case Field::path:
        append_path(out, request.head.target, segment.escape);
        break;
      case Field::method:
      case Field::url:
      case Field::query:
      case Field::request_uri:
      case Field::host:
      case Field::proto:
      case Field::remote_addr:
      case Field::user_agent:
      case Field::referer:
      case Field::trace_id:
      case Field::revision_name:
      case Field::revision_space:
      case Field::revision_service:
      case Field::revision_configuration:
      case Field::revision_pod:
      case Field::revision_pod_ip:
        append_escaped(out, text_of(segment.field, request), segment.escape);
        break;
    }
  }
}

void RequestLog::append_path(std::string& out, std::string_view target, Escape escape) {
  std::string path;
  append_decoded_path(path, target);
  append_escaped(out, path, escape);
}

std::string_view RequestLog::text_of(Field field, const LoggedRequest& request) {
  const http::RequestHead& head = request.head;
  switch (field) {
    case Field::method:
      return head.method;
    case Field::url:
    case Field::request_uri:
      return head.target;
    case Field::query:
      return query_of(head.target);
    case Field::host:
      return head.fields.get(http::Known::host);
    case Field::proto:
      return protocol(head);
    case Field::remote_addr:
      return request.peer_ip;
    case Field::user_agent:
      return head.fields.get(http::Known::user_agent);
    case Field::referer:
      return head.fields.find("referer");
    case Field::trace_id:
      return trace_id(head.fields);
    case Field::revision_name:
      return request.revision.name;
    case Field::revision_space:
      return request.revision.space;
    case Field::revision_service:
      return request.revision.service;
    case Field::revision_configuration:
      return request.revision.configuration;
    case Field::revision_pod:
      return request.revision.pod;
    case Field::revision_pod_ip:
      return request.revision.pod_ip;
    case Field::literal:
    case Field::header:
    case Field::headers:
    case Field::path:
    case Field::proto_major:
    case Field::proto_minor:
    case Field::content_length:
    case Field::code:
    case Field::size:
    case Field::latency:
      break;
  }
  return {};
}

void RequestLog::add_literal(std::string_view text) {
  if (text.empty()) return;
  if (!segments_.empty() && segments_.back().field == Field::literal) {
    segments_.back().text.append(text);
  } else {
    segments_.push_back({Field::literal, Escape::none, std::string{text}});
  }
}

}  // namespace sluice::log
