#include "load/core/recorded_request.h"

#include "load/core/target.h"
#include <algorithm>

namespace sluice::loadgen {

namespace {

bool has_no_blanks(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return (c >= 0 && c <= ' ') || c == 0x7f; });
}

}  // namespace

void RecordedRequest::clear() {
  cell.service.clear();
  cell.host.clear();
  cell.method.clear();
  cell.path.clear();
  cell.duration.reset();
  cell.status.reset();
  cell.body_bytes.reset();
  time.reset();
  at_end = false;
}

bool put_target(std::string_view target, TraceCell& cell) {
  if (target.empty() || !has_no_blanks(target)) return false;
  if (target.front() == '/' || target == "*") {
    cell.path = target;
    return true;
  }
  const std::size_t scheme = target.find("://");
  const std::string_view name = target.substr(0, scheme);
  if (scheme == std::string_view::npos || (name != "http" && name != "https")) return false;
  target.remove_prefix(scheme + 3);
  const std::size_t end = std::min(target.find_first_of("/?#"), target.size());
  std::string_view host = target.substr(0, end);
  host.remove_prefix(host.rfind('@') + 1);  // 0 where there is none
  if (host.empty()) return false;
  target.remove_prefix(end);
  cell.host = host;
  target = target.substr(0, target.find('#'));
  cell.path = target.starts_with('/') ? "" : "/";
  cell.path += target;
  return true;
}

bool put_request_line(std::string_view line, TraceCell& cell) {
  const std::size_t blank = line.find(' ');
  const std::string_view method = line.substr(0, blank);
  if (blank == std::string_view::npos || !is_token(method)) return false;
  const std::string_view rest = line.substr(blank + 1);
  // HTTP/0.9 had no version behind the target.
  if (!put_target(rest.substr(0, rest.find(' ')), cell)) return false;
  cell.method = method;
  return true;
}

std::optional<RequestTime> begin_of(const RecordedRequest& request) {
  if (!request.time) return std::nullopt;
  RequestTime begin = *request.time;
  const Duration took = request.cell.duration.value_or(Duration::zero());
  if (request.at_end) begin.at = std::max(begin.at - took, Duration::zero());
  return begin;
}

}  // namespace sluice::loadgen
