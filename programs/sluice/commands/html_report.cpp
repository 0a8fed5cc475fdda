#include "programs/sluice/commands/html_report.h"

#include "common/dashboard/report_file.h"
#include "common/json/write.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace sluice::commands {
namespace {

using nlohmann::json;

// Decisions are two seconds apart.
constexpr double kStepSeconds = 2;

}  // namespace

HtmlReport::HtmlReport(std::string title, std::vector<std::string> columns, bool dated)
    : title_{std::move(title)}, columns_{std::move(columns)}, dated_{dated} {}

void HtmlReport::join(Row& row, const Row& more) {
  row.panic = row.panic || more.panic;
  for (std::size_t i = 0; i < row.values.size(); ++i) {
    row.values[i] = std::max(row.values[i], more.values[i]);
  }
}

void HtmlReport::row(double time_s, bool panic, const std::vector<double>& values) {
  Row next{time_s, panic, values};
  if (last_ > 0 && last_ < each_) {
    join(rows_.back(), next);
    ++last_;
    return;
  }
  if (rows_.size() >= kRowsMax) {
    for (std::size_t i = 0; i < rows_.size() / 2; ++i) {
      if (i > 0) rows_[i] = std::move(rows_[2 * i]);
      join(rows_[i], rows_[2 * i + 1]);
    }
    rows_.resize(rows_.size() / 2);
    each_ *= 2;
  }
  rows_.push_back(std::move(next));
  last_ = 1;
}

std::string HtmlReport::page() const {
  json rows = json::array();
  for (const Row& row : rows_) {
    json one{row.time_s, row.panic ? 1 : 0};
    for (const double value : row.values) one.push_back(value);
    rows.push_back(std::move(one));
  }
  const json data{{"title", title_},
                  {"dated", dated_},
                  {"step", kStepSeconds * static_cast<double>(each_)},
                  {"columns", columns_},
                  {"rows", std::move(rows)}};
  return dashboard::page_of(dashboard::simulation_report(), text_.str(), json_line(data));
}

}  // namespace sluice::commands
