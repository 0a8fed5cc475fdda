#include "common/api/change_access.h"

#include "common/http/message.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::api {
namespace {

constexpr std::string_view kBearer = "Bearer ";

}  // namespace

std::string_view bearer_of(std::string_view authorization) {
  if (authorization.size() <= kBearer.size() ||
      !http::equals_ignoring_case(authorization.substr(0, kBearer.size()), kBearer)) {
    return {};
  }
  return authorization.substr(kBearer.size());
}

void ChangeFields::take(std::string_view name, std::string_view value) {
  const std::array<std::pair<std::string_view, std::string_view*>, 4> wanted{
      {{"Sluice-Edit", &token},
       {"Origin", &origin},
       {"Sec-Fetch-Site", &fetch_site},
       {"Authorization", &authorization}}};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!http::equals_ignoring_case(name, wanted[i].first)) continue;
    const unsigned bit = 1U << i;
    const bool again = (seen & bit) != 0;
    seen |= bit;
    *wanted[i].second = value;
    if (!again) return;
    if (wanted[i].second == &authorization) {
      authorization = {};
    } else {
      repeated = wanted[i].first;
    }
  }
}

bool equal_secretly(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    difference = difference | static_cast<unsigned char>(left[i] ^ right[i]);
  }
  return difference == 0;
}

bool is_own_page(const ChangeFields& fields) {
  if (!fields.fetch_site.empty() && fields.fetch_site != "same-origin") return false;
  if (fields.origin.empty()) return true;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (fields.origin.starts_with(scheme) &&
        http::equals_ignoring_case(fields.origin.substr(scheme.size()), fields.authority)) {
      return true;
    }
  }
  return false;
}

bool is_page(const ChangeFields& fields) {
  return !fields.fetch_site.empty() || !fields.origin.empty();
}

http::ApiProblem other_site() {
  return {403, "other-site", "Other site", "the request comes from a page of another origin",
          "send it from a page of this host, or from a program"};
}

http::ApiProblem sent_twice(std::string_view name) {
  return {400, "repeated-header", "Repeated header",
          "the request has more than one line " + std::string{name}, "send one"};
}

std::optional<http::ApiProblem> judge_change(const ChangeFields& fields, std::string_view token,
                                             std::string_view setting) {
  if (!fields.repeated.empty()) return sent_twice(fields.repeated);
  if (!is_own_page(fields)) return other_site();
  const bool known =
      equal_secretly(fields.token, token) || equal_secretly(bearer_of(fields.authorization), token);
  if (known) return std::nullopt;
  return http::ApiProblem{403, "token-required", "Token required",
                          "a change needs the token of " + std::string{setting},
                          "send the header Authorization: Bearer TOKEN, or Sluice-Edit: TOKEN"};
}

Result<std::string, Problem> token_in(std::string_view content) {
  const std::size_t end = content.find_last_not_of(" \t\r\n");
  const std::string_view token = content.substr(0, end == std::string_view::npos ? 0 : end + 1);
  if (token.size() < kTokenBytesMin || token.size() > kTokenBytesMax) {
    return Problem{"the token has " + std::to_string(token.size()) + " bytes",
                   "make one of 16 to 4096 bytes, such as: openssl rand -hex 16"};
  }
  if (std::any_of(token.begin(), token.end(), [](char c) { return c <= ' ' || c > '~'; })) {
    return Problem{"the token has a byte that a header cannot carry",
                   "make one of letters and digits, such as: openssl rand -hex 16"};
  }
  return {boost::system::in_place_value, token};
}

}  // namespace sluice::api
