#include "common/api/api_text.h"

#include "common/json/write.h"
#include "common/values/whole_number.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace sluice::http {
namespace {

using nlohmann::json;

constexpr std::size_t kListDefault = 100;
constexpr std::size_t kListMax = 1000;

std::optional<std::string> decode(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i] == '+' && plus_is_space ? ' ' : text[i];
      continue;
    }
    const auto byte = hex_number<unsigned char>(text.substr(i + 1, 2));
    if (i + 2 >= text.size() || !byte) return std::nullopt;
    out += static_cast<char>(*byte);
    i += 2;
  }
  return out;
}

ApiProblem unreadable(std::string_view what) {
  return {400, "bad-target", "Bad target", "the target has a bad escape: " + std::string{what},
          "write % as %25"};
}

std::string printed(const json& body) {
  return json_line(body) + "\n";
}

}  // namespace

ApiProblem::ApiProblem(int status_code, std::string type_word, std::string title_text,
                       std::string detail_text, std::string fix_text)
    : status{status_code},
      type{std::move(type_word)},
      title{std::move(title_text)},
      detail{std::move(detail_text)},
      fix{std::move(fix_text)} {}

std::string ApiTarget::text(std::string_view key) const {
  const auto found = query.find(key);
  return found == query.end() ? std::string{} : found->second;
}

std::optional<std::uint64_t> ApiTarget::number(std::string_view key, std::uint64_t missing) const {
  const std::string digits = text(key);
  if (digits.empty()) return missing;
  return whole_number<std::uint64_t>(digits);
}

std::string url_encoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    }
  }
  return out;
}

std::vector<std::string_view> parts_of(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool ApiTarget::flag(std::string_view key) const {
  const auto found = query.find(key);
  return found != query.end() && found->second != "0" && found->second != "false";
}

Result<ApiTarget, ApiProblem> parse_target(std::string_view target) {
  if (target.size() > kApiTargetMax) {
    return ApiProblem{414, "target-too-long", "Target too long",
                      "the target is longer than 4096 bytes", "shorten it"};
  }
  ApiTarget parsed;
  const std::size_t mark = std::min(target.find('?'), target.size());
  for (const std::string_view part : parts_of(target.substr(0, mark), '/')) {
    auto text = decode(part, false);
    if (!text) return unreadable(part);
    parsed.path.push_back(std::move(*text));
  }
  for (const std::string_view pair :
       parts_of(target.substr(std::min(mark + 1, target.size())), '&')) {
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto key = decode(pair.substr(0, equals), true);
    auto value = decode(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!key || !value) return unreadable(pair);
    parsed.query.emplace(std::move(*key), std::move(*value));
  }
  return parsed;
}

ApiAnswer problem_answer(const ApiProblem& problem) {
  json body = {{"type", problem.type},
               {"title", problem.title},
               {"status", problem.status},
               {"detail", problem.detail}};
  if (!problem.fix.empty()) body["fix"] = problem.fix;
  return {problem.status, "application/problem+json", printed(body), {}};
}

ApiAnswer json_answer(const json& body, int status) {
  return {status, "application/json", printed(body), {}};
}

ApiProblem no_such_path(std::string_view path, std::string fix) {
  return {404, "no-such-path", "No such path", "nothing is served at " + std::string{path},
          std::move(fix)};
}

ApiAnswer method_not_allowed(std::string_view method, std::string allow, std::string fix) {
  ApiAnswer answer = problem_answer({405, "method-not-allowed", "Method not allowed",
                                     std::string{method} + " is not allowed here", std::move(fix)});
  answer.allow = std::move(allow);
  return answer;
}

ApiProblem bad_parameter(std::string_view name, std::string_view value, std::string fix) {
  const std::string detail = value.empty() ? " is missing" : " is not accepted: ";
  return {400, "bad-parameter", "Bad parameter", std::string{name} + detail + std::string{value},
          std::move(fix)};
}

Result<ApiPage, ApiProblem> page_of(const ApiTarget& target, std::size_t size) {
  const auto limit = target.number("limit", kListDefault);
  if (!limit || *limit == 0 || *limit > kListMax) {
    return bad_parameter("limit", target.text("limit"), "give a number from 1 to 1000");
  }
  const auto from = target.number("next", 0);
  if (!from) {
    return bad_parameter("next", target.text("next"),
                         "give the `next` value of the previous answer");
  }
  const std::size_t begin = std::min<std::size_t>(*from, size);
  return ApiPage{begin, begin + std::min<std::size_t>(size - begin, *limit)};
}

ApiPage page_within(const ApiPage& page, std::size_t size) {
  return {std::min(page.begin, size), std::min(page.end, size)};
}

AnswerParts parts_of_page(const ApiPage& page, std::size_t size,
                          std::function<void(std::string&, std::size_t)> item,
                          const std::string& more) {
  const std::size_t count = page.end - page.begin;
  const std::string next =
      page.end < size ? ",\"next\":\"" + std::to_string(page.end) + "\"" : std::string{};
  const std::string end = "]" + next + more + "}\n";
  return [count, end, item = std::move(item), place = std::size_t{0},
          first = true](std::string& body) mutable {
    if (place == 0) body += "{\"items\":[";
    if (place == count) {
      body += end;
      return false;
    }
    const std::size_t before = body.size();
    if (!first) body += ',';
    const std::size_t begin = body.size();
    item(body, place++);
    if (body.size() == begin) {
      body.resize(before);
    } else {
      first = false;
    }
    return true;
  };
}

AnswerParts parts_after(std::function<bool()> find, std::function<AnswerParts()> then) {
  return [find = std::move(find), then = std::move(then),
          parts = AnswerParts{}](std::string& body) mutable {
    if (parts) return parts(body);
    if (!find()) parts = then();
    return true;
  };
}

ApiAnswer page_answer(const json& items, const ApiPage& page, std::size_t size) {
  json body = {{"items", items}};
  if (page.end < size) body["next"] = std::to_string(page.end);
  return json_answer(body);
}

}  // namespace sluice::http
