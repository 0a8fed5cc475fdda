#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::model {

/// The labels of one object.
using Labels = std::map<std::string, std::string, std::less<>>;

/// A label expression: all of `labels`, and all of `expressions`.
struct Selector {
  enum class Operator : std::uint8_t { in, not_in, exists, does_not_exist };

  struct Expression {
    std::string key;
    Operator op = Operator::exists;
    std::vector<std::string> values;

    friend bool operator==(const Expression&, const Expression&) = default;
  };

  Labels labels;
  std::vector<Expression> expressions;

  [[nodiscard]] bool empty() const { return labels.empty() && expressions.empty(); }

  /// An empty selector matches nothing here: none of ours is meant to match everything.
  [[nodiscard]] bool matches(const Labels& of) const;

  friend bool operator==(const Selector&, const Selector&) = default;
};

/// The selector that `text` is in Kubernetes' syntax: `gpu=yes,zone in (a,b),!x,zone notin (c)`.
/// Empty text is an empty selector.
[[nodiscard]] Result<Selector, Problem> parse_selector(std::string_view text);

/// The same syntax again, as kubectl prints it.
[[nodiscard]] std::string selector_text(const Selector& selector);

}  // namespace sluice::model
