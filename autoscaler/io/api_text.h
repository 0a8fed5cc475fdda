#pragma once

#include "common/base/result.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What every answer of the HTTP+JSON API is made of (protocols.md 5): targets read, problems and
// pages written.
namespace sluice::autoscaler {

/// A refused request; becomes application/problem+json.
struct ApiRefusal {
  int status = 500;
  std::string type;    ///< a short stable word, such as "no-such-service"
  std::string title;   ///< the same in words
  std::string detail;  ///< names the thing
  std::string fix;     ///< what to do about it; may be empty
};

/// One answer, whole.
struct ApiAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string allow;  ///< of a 405
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
};

/// Longest target that is read.
inline constexpr std::size_t kApiTargetMax = 4096;

[[nodiscard]] Result<ApiTarget, ApiRefusal> parse_target(std::string_view target);

[[nodiscard]] ApiAnswer refusal_answer(const ApiRefusal& refusal);

[[nodiscard]] ApiAnswer json_answer(const nlohmann::json& body);

[[nodiscard]] ApiRefusal bad_parameter(std::string_view name, std::string_view value,
                                       std::string fix);

/// Which of a list's items go into one answer.
struct ApiPage {
  std::size_t begin = 0;
  std::size_t end = 0;  ///< the first that does not
};

/// The page of `size` items that `limit` and `next` of the target ask for.
[[nodiscard]] Result<ApiPage, ApiRefusal> page_of(const ApiTarget& target, std::size_t size);

/// The answer with the items of `page`, out of `size`.
[[nodiscard]] ApiAnswer page_answer(const nlohmann::json& items, const ApiPage& page,
                                    std::size_t size);

}  // namespace sluice::autoscaler
