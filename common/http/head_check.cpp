#include "common/http/head_check.h"

#include "common/http/octets.h"
#include "common/values/whole_number.h"

#include <algorithm>
#include <limits>

namespace sluice::http {
namespace {

Fed bad(std::string_view why) {
  return {Fed::State::bad, 0, why};
}

bool is_http1(std::string_view version) {
  return version == "HTTP/1.1" || version == "HTTP/1.0";
}

Fed check_request_line(std::string_view line) {
  const std::size_t method = kTokenOctets.skip(line, 0);
  if (method == 0 || method == line.size() || line[method] != ' ') return bad("reason=method");
  const std::string_view rest = line.substr(method + 1);
  const std::size_t target = rest.find(' ');
  if (target == std::string_view::npos ||
      !is_target(line.substr(0, method), rest.substr(0, target))) {
    return bad("reason=target");
  }
  if (!is_http1(rest.substr(target + 1))) return bad("reason=version");
  return {};
}

Fed check_status_line(std::string_view line) {
  if (line.size() < 13 || !is_http1(line.substr(0, 8)) || line[8] != ' ' || line[12] != ' ') {
    return bad("reason=status-line");
  }
  for (std::size_t i = 9; i < 12; ++i) {
    if (line[i] < '0' || line[i] > '9') return bad("reason=status");
  }
  return line[9] == '0' ? bad("reason=status") : Fed{};
}

Fed check_field(std::string_view line) {
  if (line.front() == ' ' || line.front() == '\t') return bad("reason=folded-line");
  const std::size_t name = kTokenOctets.skip(line, 0);
  if (name == line.size()) return bad("reason=no-colon");
  if (line[name] == ':') return name == 0 ? bad("reason=empty-name") : Fed{};
  return bad(line[name] == ' ' || line[name] == '\t' ? "reason=space-before-colon"
                                                     : "reason=field-name");
}

// Not the grammar of a host, but nothing that could be read as two of them or as a path.
constexpr OctetSet kHostOctets{[](unsigned octet) {
  constexpr std::string_view kRefused = ",/@#?\\";
  return octet > 0x20 && kRefused.find(static_cast<char>(octet)) == std::string_view::npos;
}};

std::string_view name_of_break(char c) {
  if (c == '\n') return "reason=bare-lf";
  return c == '\0' ? "reason=nul" : "reason=control-character";
}

}  // namespace

bool is_target(std::string_view method, std::string_view target) {
  if (target.empty() || kTargetOctets.skip(target, 0) != target.size()) return false;
  if (target.front() == '/') return true;
  if (method == "CONNECT") return true;
  if (target == "*") return method == "OPTIONS";
  const std::size_t scheme = target.find("://");
  return scheme != std::string_view::npos && scheme > 0 &&
         kTokenOctets.skip(target.substr(0, scheme), 0) == scheme;
}

std::string_view path_of(std::string_view target) {
  const std::size_t scheme = target.find("://");
  const std::size_t query = target.find_first_of("?#");
  if (!target.starts_with('/') && scheme < query) {
    const std::size_t path = target.find_first_of("/?#", scheme + 3);
    target.remove_prefix(std::min(path, target.size()));
  }
  return target.substr(0, target.find('?'));
}

void glean_request_line(std::string_view bytes, RequestHead& head) {
  constexpr std::size_t kGleanedMax = 256;  // of each: enough to tell whose path it is
  head.clear();
  while (bytes.starts_with("\r\n")) bytes.remove_prefix(2);
  const std::string_view line = bytes.substr(0, bytes.find_first_of("\r\n"));
  const std::size_t space = line.find(' ');
  if (space == 0 || space == std::string_view::npos) return;
  const std::string_view rest = line.substr(space + 1);
  head.method.assign(line.substr(0, std::min(space, kGleanedMax)));
  head.target.assign(rest.substr(0, std::min(rest.find(' '), kGleanedMax)));
}

Fed HeadCheck::check_line(std::string_view line) {
  if (line_ == 0) {
    return kind_ == Kind::request ? check_request_line(line) : check_status_line(line);
  }
  if (++fields_ > limits_.fields_max) {
    return {Fed::State::too_large, 0, kHeaderFieldsLimit};
  }
  return check_field(line);
}

Fed HeadCheck::look(std::string_view bytes) {
  while (true) {
    at_ = skip_line_octets(bytes, at_);
    if (at_ >= limits_.bytes_max) return {Fed::State::too_large, 0, kHeaderBytesLimit};
    if (at_ == bytes.size()) return {};
    if (bytes[at_] != '\r') return bad(name_of_break(bytes[at_]));
    if (at_ + 1 == bytes.size()) return {};
    if (bytes[at_ + 1] != '\n') return bad("reason=bare-cr");
    const std::string_view line = bytes.substr(line_, at_ - line_);
    if (line.empty() && line_ > 0) {
      if (at_ + 2 > limits_.bytes_max) return {Fed::State::too_large, 0, kHeaderBytesLimit};
      return {Fed::State::done, at_ + 2, {}};
    }
    const Fed checked = check_line(line);
    if (checked.state != Fed::State::need_more) return checked;
    at_ += 2;
    line_ = at_;
  }
}

BodyFraming framing_of(const FieldList& fields, int version_minor) {
  BodyFraming found;
  if (!fields.has(Known::content_length) && !fields.has(Known::transfer_encoding)) return found;
  std::size_t lengths = 0;
  std::size_t codings = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Known known = fields.known_at(i);
    if (known == Known::content_length) ++lengths;
    if (known == Known::transfer_encoding) ++codings;
  }
  if (lengths > 0 && codings > 0) {
    found.problem = "reason=length-and-coding";
  } else if (lengths > 1) {
    found.problem = "reason=several-lengths";
  } else if (lengths == 1) {
    const std::string_view text = fields.get(Known::content_length);
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    const auto length = whole_number<std::uint64_t>(text, 0, kMost);
    if (!length) found.problem = "reason=content-length";
    found.length = length.value_or(0);
    found.framing = Framing::length;
  } else {
    const bool sound = codings == 1 && version_minor > 0 &&
                       equals_ignoring_case(fields.get(Known::transfer_encoding), "chunked");
    if (!sound) found.problem = "reason=transfer-encoding";
    found.framing = Framing::chunked;
  }
  return found;
}

bool is_host(std::string_view host) {
  return kHostOctets.skip(host, 0) == host.size();
}

std::string_view host_problem(const RequestHead& head) {
  if (!head.fields.has(Known::host)) {
    return head.version_minor == 0 ? std::string_view{} : "reason=no-host";
  }
  std::size_t hosts = 0;
  for (std::size_t i = 0; i < head.fields.size(); ++i) {
    hosts += head.fields.known_at(i) == Known::host ? 1U : 0U;
  }
  if (hosts > 1) return "reason=several-hosts";
  return is_host(head.fields.get(Known::host)) ? std::string_view{} : "reason=host";
}

std::string_view to_origin_form(RequestHead& head) {
  if (head.target.front() == '/' || head.method == "CONNECT") return {};
  const std::size_t scheme = head.target.find("://");
  if (scheme == std::string::npos) return {};
  const std::size_t begin = scheme + 3;
  const std::size_t end = std::min(head.target.find_first_of("/?", begin), head.target.size());
  const std::string_view authority = std::string_view{head.target}.substr(begin, end - begin);
  if (authority.empty() || !is_host(authority)) return "reason=target";
  head.fields.set(Known::host, "Host", authority);
  if (end == head.target.size()) {
    head.target = head.method == "OPTIONS" ? "*" : "/";
  } else {
    head.target.replace(0, end, head.target[end] == '?' ? "/" : "");
  }
  return {};
}

}  // namespace sluice::http
