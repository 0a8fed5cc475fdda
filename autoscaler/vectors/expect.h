#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::vectors {

/// Where a case and the cores disagree.
struct Mismatch {
  std::string field;  ///< a path inside the case, such as "ticks[3].desired"
  std::string want;
  std::string got;
};

/// How far two numbers may lie apart: either limit is enough.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};

/// For values that are rounded to six decimals, and for unrounded floating point.
inline constexpr Tolerance kRounded{.absolute = 2e-6, .relative = 0};
inline constexpr Tolerance kFloating{.absolute = 1e-9, .relative = 1e-9};

/// Compares what a case expects with what the cores return, and keeps the first difference.
class Expect {
 public:
  /// Prefix of every field that follows: "ticks[3].".
  void within(std::string prefix) { prefix_ = std::move(prefix); }

  /// Equal as JSON values: integers, booleans, strings, lists. A `want` of null, which is what an
  /// absent key reads as, is met by zero, false, an empty string or list, or null.
  void equal(std::string_view field, const nlohmann::json& want, const nlohmann::json& got);

  /// Equal within `tolerance`; a string such as "NaN" or "+Inf" must be met exactly, and null means
  /// zero.
  void near(std::string_view field, const nlohmann::json& want, double got, Tolerance tolerance);

  [[nodiscard]] bool failed() const { return mismatch_.has_value(); }

  [[nodiscard]] const std::optional<Mismatch>& mismatch() const { return mismatch_; }

 private:
  std::string prefix_;
  std::optional<Mismatch> mismatch_;
};

}  // namespace sluice::vectors
