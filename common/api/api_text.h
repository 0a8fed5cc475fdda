#pragma once

#include "common/base/result.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What every answer of an HTTP+JSON API is made of (protocols.md 5): targets read, problems and
// pages written.
namespace sluice::http {

/// A refused request; becomes application/problem+json.
struct ApiProblem {
  // A constructor rather than an aggregate: a JSON value converts to anything, so it could pass for
  // an aggregate's first member and Result<json, ApiProblem> could not tell an answer from a
  // problem.
  ApiProblem() = default;
  ApiProblem(int status_code, std::string type_word, std::string title_text,
             std::string detail_text, std::string fix_text);

  int status = 500;    ///< HTTP status
  std::string type;    ///< a short stable word, such as "no-such-service"
  std::string title;   ///< the same in words
  std::string detail;  ///< names the thing
  std::string fix;     ///< what to do about it; may be empty
};

/// One answer, whole.
struct ApiAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::string allow = {};  ///< of a 405
  /// More header fields; they take the place of those that every answer has.
  std::vector<std::pair<std::string, std::string>> fields = {};
};

/// A request's target, taken apart and decoded.
struct ApiTarget {
  std::vector<std::string> path;  ///< without empty parts
  std::map<std::string, std::string, std::less<>> query;

  /// Empty when absent.
  [[nodiscard]] std::string text(std::string_view key) const;

  /// `missing` when absent; nothing when it is no number.
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view key,
                                                    std::uint64_t missing) const;

  /// Whether it is there and neither `0` nor `false`.
  [[nodiscard]] bool flag(std::string_view key) const;
};

/// Longest target that is read.
inline constexpr std::size_t kApiTargetMax = 4096;

/// `text` for a path segment or a query value.
[[nodiscard]] std::string url_encoded(std::string_view text);

/// The parts of `text` between each `at`, without empty ones.
[[nodiscard]] std::vector<std::string_view> parts_of(std::string_view text, char at);
/// Does not compile for a temporary text: the parts would outlive it.
std::vector<std::string_view> parts_of(std::string&& text, char at) = delete;

/// Refused: a target that is too long, or with an escape that is none.
[[nodiscard]] Result<ApiTarget, ApiProblem> parse_target(std::string_view target);

/// `problem` as application/problem+json.
[[nodiscard]] ApiAnswer problem_answer(const ApiProblem& problem);

[[nodiscard]] ApiAnswer json_answer(const nlohmann::json& body, int status = 200);

/// 404 for a path below which there is nothing.
[[nodiscard]] ApiProblem no_such_path(std::string_view path, std::string fix);

/// 405 for `method`.
[[nodiscard]] ApiAnswer method_not_allowed(std::string_view method, std::string allow,
                                           std::string fix);

[[nodiscard]] ApiProblem bad_parameter(std::string_view name, std::string_view value,
                                       std::string fix);

/// Which of a list's items go into one answer.
struct ApiPage {
  std::size_t begin = 0;
  std::size_t end = 0;  ///< the first that does not
};

/// What of `page` a list of `size` items has.
[[nodiscard]] ApiPage page_within(const ApiPage& page, std::size_t size);

/// The page of `size` items that `limit` and `next` of the target select.
[[nodiscard]] Result<ApiPage, ApiProblem> page_of(const ApiTarget& target, std::size_t size);

/// Makes an answer that may be long, a little in each call: appends to the body, maybe nothing, and
/// returns whether more follows. One call takes some 50 us at most.
using AnswerParts = std::function<bool(std::string& body)>;

/// The same answer as page_answer(), an item in each part. `item` appends the JSON of the one at a
/// place of the page, from 0 on; one of which it appends nothing is left out. `more`: members that
/// follow the items, each after a comma.
[[nodiscard]] AnswerParts parts_of_page(const ApiPage& page, std::size_t size,
                                        std::function<void(std::string&, std::size_t)> item,
                                        const std::string& more = {});

/// What `then` makes, when `find`, which is called until it returns false, has found what it is
/// made from. One call of `find` takes some 50 us at most.
[[nodiscard]] AnswerParts parts_after(std::function<bool()> find,
                                      std::function<AnswerParts()> then);

/// The answer with the items of `page`, out of `size`.
[[nodiscard]] ApiAnswer page_answer(const nlohmann::json& items, const ApiPage& page,
                                    std::size_t size);

}  // namespace sluice::http
