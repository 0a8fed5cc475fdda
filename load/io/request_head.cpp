#include <boost/beast/core/string.hpp>

#include "load/io/load_run.h"
#include <algorithm>
#include <string_view>

namespace sluice::loadgen {

namespace {

bool has_header(const TargetPlan& plan, std::string_view name) {
  return std::any_of(plan.headers.begin(), plan.headers.end(), [name](const auto& header) {
    return boost::beast::iequals({header.first.data(), header.first.size()},
                                 {name.data(), name.size()});
  });
}

}  // namespace

std::string request_head(const TargetPlan& plan, SentAs as, bool closes) {
  const std::string_view method = method_of(plan, as);
  const std::string_view body = has_body(as) ? plan.body : std::string_view{};
  std::string head = " HTTP/1.1\r\n";
  if (!has_header(plan, "Host")) head += "Host: " + plan.target.authority + "\r\n";
  if (!has_header(plan, "User-Agent")) head += "User-Agent: sluice-load\r\n";
  for (const auto& [name, value] : plan.headers)
    head.append(name).append(": ").append(value).append("\r\n");
  // The server closes, so that used-up ports wait on its side and not on that of the generator.
  if (closes && !has_header(plan, "Connection")) head += "Connection: close\r\n";
  const bool expects_body = method == "POST" || method == "PUT" || method == "PATCH";
  if (!body.empty() || expects_body) {
    head += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  }
  return head;
}

}  // namespace sluice::loadgen
