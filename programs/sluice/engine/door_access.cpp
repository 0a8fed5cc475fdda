// Who may do what at the front door of one machine, decided from values alone.

#include "programs/sluice/engine/door_access.h"

#include "activator/core/host_table.h"
#include "common/http/message.h"

#include "platform/process/engine_host.h"
#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstdio>
#include <cstring>
#include <sys/random.h>
#include <utility>

namespace sluice::local {
namespace {

constexpr std::size_t kShownMax = 200;
constexpr std::size_t kHostBytesMax = 64;  // of a literal address: longer text is none

bool is_v4_loopback(std::string_view host) {
  in_addr address{};
  const std::string text{host.substr(0, kHostBytesMax)};
  return ::inet_pton(AF_INET, text.c_str(), &address) == 1 &&
         (ntohl(address.s_addr) >> 24U) == IN_LOOPBACKNET;
}

bool is_v6_loopback(std::string_view host) {
  if (host.size() < 2 || host.front() != '[' || host.back() != ']') return false;
  in6_addr address{};
  const std::string text{host.substr(1, std::min(host.size() - 2, kHostBytesMax))};
  if (::inet_pton(AF_INET6, text.c_str(), &address) != 1) return false;
  const bool mapped = IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == IN_LOOPBACKNET;
  return IN6_IS_ADDR_LOOPBACK(&address) || mapped;
}

bool is_named(const DoorRules& rules, std::string_view authority) {
  const std::string_view host = activator::host_of(authority);
  return std::any_of(rules.hosts.begin(), rules.hosts.end(), [host](const std::string& allowed) {
    return http::equals_ignoring_case(host, activator::host_of(allowed));
  });
}

ApiProblem host_not_allowed(std::string_view authority) {
  const std::string host{activator::host_of(authority).substr(0, kShownMax)};
  return {
      403, "host-not-allowed", "Host not allowed",
      host.empty() ? "the request names no Host" : "the engine does not answer to the Host " + host,
      "use http://localhost, or allow the name in config.yaml: dashboard: {hosts: [NAME]}"};
}

ApiProblem page_elsewhere() {
  return {403, "page-elsewhere", "Not from this page",
          "a page changes something at the engine's own host only",
          "open http://" + std::string{kEngineHost} + " at this port, or use the command line"};
}

ApiProblem token_missing(const DoorRules& rules) {
  const std::string_view why =
      rules.opened() ? "`dashboard` in config.yaml admits other clients, so every request "
                       "needs the token of this start"
                     : "a change needs the token of this start";
  return {403, "token-required", "Token required", std::string{why},
          "send the header Sluice-Edit; `sluice up` prints the file that holds the token"};
}

}  // namespace

void take_door_fields(const http::FieldList& fields, DoorRequest& request) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const http::Field field = fields.at(i);
    request.take(field.name, field.value);
  }
}

Result<net::Address, Problem> parse_door(std::string_view text) {
  auto address = net::parse_address(text);
  if (address && !address->host.empty()) return address;
  return Problem{std::string(text) + " is not HOST:PORT",
                 "give localhost or an IP address, and a port, such as 127.0.0.1:8080"};
}

ApiResult<Proof> judge_door(const DoorRules& rules, const DoorRequest& request) {
  if (!request.loopback && !rules.any_peer) return no_such_path(request.path);
  const bool known = names_loopback(request.authority) || names_engine(request.authority) ||
                     is_named(rules, request.authority);
  if (!known) return host_not_allowed(request.authority);
  if (!request.repeated.empty()) return api::sent_twice(request.repeated);
  const bool has_token = !rules.token.empty() && equal_secretly(request.token, rules.token);
  if (rules.opened() && !has_token && !request.page_file) return token_missing(rules);
  if (request.method != "GET" && request.method != "HEAD") {
    if (!rules.allow_edit) {
      return ApiProblem{403, "read-only", "Read-only",
                        "changes are not allowed through the front door",
                        "use the command line, or start the engine with `sluice up --allow-edit`"};
    }
    if (!api::is_own_page(request)) return api::other_site();
    // A page at localhost or at an address may be that of the only service.
    if (api::is_page(request) && !is_own_host(rules, request.authority)) return page_elsewhere();
    if (!has_token) return token_missing(rules);
  }
  return request.loopback && request.own_user ? Proof::own_user : Proof::none;
}

bool names_loopback(std::string_view authority) {
  const std::string_view host = activator::host_of(authority);
  return http::equals_ignoring_case(host, "localhost") || is_v4_loopback(host) ||
         is_v6_loopback(host);
}

bool names_engine(std::string_view authority) {
  return http::equals_ignoring_case(activator::host_of(authority), kEngineHost);
}

bool names_machine(std::string_view host) {
  if (host.empty() || http::equals_ignoring_case(host, "localhost") || host.front() == '[') {
    return true;
  }
  return host.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool is_own_host(const DoorRules& rules, std::string_view authority) {
  return names_engine(authority) ||
         (is_named(rules, authority) && !names_machine(activator::host_of(authority)));
}

std::string make_token() {
  std::array<unsigned char, 16> bits{};
  if (::getrandom(bits.data(), bits.size(), 0) != static_cast<ssize_t>(bits.size())) return {};
  std::string token;
  std::array<char, 3> digits{};
  for (const unsigned char byte : bits) {
    std::snprintf(digits.data(), digits.size(), "%02x", byte);
    token += digits.data();
  }
  return token;
}

}  // namespace sluice::local
