#include "common/kube/request_text.h"

#include "common/base/clean_text.h"
#include "common/base/version.h"
#include "common/kube/json_read.h"
#include "common/values/whole_number.h"

#include <algorithm>

namespace sluice::kube {
namespace {

constexpr std::size_t kMessageMax = 1000;
constexpr std::size_t kQuotedMax = 200;
// The longest wait that one response can impose.
constexpr std::int64_t kRetryAfterMax = 60;

std::string_view method_of(Verb verb) {
  switch (verb) {
    case Verb::get:
      return "GET";
    case Verb::create:
      return "POST";
    case Verb::replace:
      return "PUT";
    case Verb::merge_patch:
    case Verb::json_patch:
    case Verb::apply:
    case Verb::apply_force:
      return "PATCH";
    case Verb::remove:
      return "DELETE";
  }
  return "GET";
}

std::string_view content_type_of(Verb verb) {
  switch (verb) {
    case Verb::merge_patch:
      return "application/merge-patch+json";
    case Verb::json_patch:
      return "application/json-patch+json";
    case Verb::apply:
    case Verb::apply_force:
      return "application/apply-patch+yaml";  // of which JSON is a part
    case Verb::get:
    case Verb::create:
    case Verb::replace:
    case Verb::remove:
      break;
  }
  return "application/json";
}

bool is_path(std::string_view path) {
  return path.starts_with('/') && path.size() <= 16 * 1024 &&
         std::all_of(path.begin(), path.end(), [](char c) {
           return static_cast<unsigned char>(c) > 0x20 && static_cast<unsigned char>(c) < 0x7f &&
                  c != '#';
         });
}

std::string target_of(const Access& access, const Request& request) {
  std::string target = access.path_prefix + request.path;
  if (request.verb != Verb::apply && request.verb != Verb::apply_force) return target;
  target += target.find('?') == std::string::npos ? '?' : '&';
  target.append("fieldManager=").append(kFieldManager);
  if (request.verb == Verb::apply_force) target += "&force=true";
  return target;
}

std::optional<Duration> wait_of(std::string_view text) {
  const auto seconds = whole_number<std::int64_t>(text, 0);
  if (!seconds) return std::nullopt;
  return std::chrono::seconds{std::min(*seconds, kRetryAfterMax)};
}

std::string printable(std::string_view text, std::size_t bytes_max) {
  return clean_text(text.substr(0, bytes_max), ' ');
}

}  // namespace

std::optional<std::string> request_text(const Access& access, std::string_view token,
                                        const Request& request) {
  if (!is_path(request.path)) return std::nullopt;
  std::string text{method_of(request.verb)};
  text.append(" ").append(target_of(access, request)).append(" HTTP/1.1\r\nHost: ");
  text.append(authority_of(access))
      .append("\r\nUser-Agent: sluice/")
      .append(kVersion)
      .append("\r\n");
  text.append("Accept: application/json\r\n");
  if (!token.empty()) text.append("Authorization: Bearer ").append(token).append("\r\n");
  if (request.verb != Verb::get) {
    if (!request.body.empty()) {
      text.append("Content-Type: ").append(content_type_of(request.verb)).append("\r\n");
    }
    text.append("Content-Length: ").append(std::to_string(request.body.size())).append("\r\n");
  }
  text.append("\r\n");
  if (request.verb != Verb::get) text.append(request.body);
  return text;
}

bool is_repeatable(Verb verb) {
  switch (verb) {
    case Verb::get:
    case Verb::merge_patch:
    case Verb::apply:
    case Verb::apply_force:
    case Verb::remove:
      return true;
    case Verb::create:
    case Verb::replace:
    case Verb::json_patch:
      return false;
  }
  return false;
}

Failure refusal(int status, std::string_view retry_after, std::string_view body) {
  Failure failure{.kind = Failure::Kind::refused, .status = status};
  nlohmann::json document;
  if (kube::parse_document(body, document) && reading::text(document, "kind") == "Status") {
    failure.reason = printable(reading::text(document, "reason"), kQuotedMax);
    failure.message = printable(reading::text(document, "message"), kMessageMax);
    const std::int64_t wait_s =
        reading::whole(reading::member(document, "details"), "retryAfterSeconds").value_or(0);
    if (wait_s > 0) failure.retry_after = std::chrono::seconds{std::min(wait_s, kRetryAfterMax)};
  } else {
    failure.message = printable(body, kQuotedMax);
  }
  if (const auto wait = wait_of(retry_after)) failure.retry_after = wait;
  return failure;
}

bool begins_as_json(std::string_view body) {
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && body[first] == '{';
}

std::string Failure::text() const {
  std::string text;
  switch (kind) {
    case Kind::unreachable:
      text = "the API server cannot be reached";
      break;
    case Kind::timed_out:
      text = "the API server did not answer in time";
      break;
    case Kind::refused:
      text = "the API server answered " + std::to_string(status);
      if (!reason.empty()) text += " " + reason;
      break;
    case Kind::garbled:
      text = "the answer is not from an API server";
      break;
    case Kind::superseded:
      text = "replaced by a newer request for the same object";
      break;
  }
  return message.empty() ? text : text + ": " + message;
}

}  // namespace sluice::kube
