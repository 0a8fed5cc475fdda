#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::replay {

/// One figure beside its bar.
struct Row {
  std::string what;
  std::string value;
  std::string bar{};  ///< empty: none
  bool met = true;
};

/// What a replay has measured.
struct Report {
  std::string title;
  std::vector<std::string> notes{};  ///< seed, digest, size
  std::vector<Row> rows{};

  /// A figure that has to be at most, or at least, `bar`.
  void at_most(std::string what, double value, double bar);
  void at_least(std::string what, double value, double bar);
  /// A figure to look at.
  void show(std::string what, double value);

  [[nodiscard]] bool met() const;
};

/// "0.437"
[[nodiscard]] std::string figure(double value);

/// Prints the table, with `ok` or `short` behind each bar.
void print(const Report& report);

}  // namespace sluice::replay
