#pragma once

#include "common/base/result.h"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace sluice::commands {

/// A page of one file that opens from disk (`sluice simulate --html`): what is printed as text, and
/// charts of the timeline.
class HtmlReport {
 public:
  /// More rows are joined two by two, so that the page of any run is small.
  static constexpr std::size_t kRowsMax = 4000;

  /// `columns`: the names of what the rows have, of those that common/dashboard/simulation.js
  /// draws. `dated`: times are seconds since 1970, else since the start of the run.
  HtmlReport(std::string title, std::vector<std::string> columns, bool dated);

  /// What is written here is the text.
  [[nodiscard]] std::ostream& text() { return text_; }

  /// A moment of the timeline. Of rows that are joined the largest values are shown.
  void row(double time_s, bool panic, const std::vector<double>& values);

  /// The whole page.
  [[nodiscard]] std::string page() const;

 private:
  struct Row {
    double time_s = 0;
    bool panic = false;
    std::vector<double> values = {};
  };

  static void join(Row& row, const Row& more);

  std::string title_;
  std::vector<std::string> columns_;
  bool dated_;
  std::ostringstream text_;
  std::vector<Row> rows_;
  std::size_t each_ = 1;  // rows in one of rows_
  std::size_t last_ = 0;  // of them in the last one
};

}  // namespace sluice::commands
