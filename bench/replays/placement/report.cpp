#include "bench/replays/placement/report.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace sluice::replay {

std::string figure(double value) {
  constexpr std::size_t kLength = 32;
  std::array<char, kLength> text{};
  const int length = std::snprintf(text.data(), text.size(), "%.3f", value);
  return {text.data(), static_cast<std::size_t>(std::max(0, length))};
}

void Report::at_most(std::string what, double value, double bar) {
  rows.push_back({std::move(what), figure(value), "<= " + figure(bar), value <= bar});
}

void Report::at_least(std::string what, double value, double bar) {
  rows.push_back({std::move(what), figure(value), ">= " + figure(bar), value >= bar});
}

void Report::show(std::string what, double value) {
  rows.push_back({std::move(what), figure(value)});
}

bool Report::met() const {
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.met; });
}

void print(const Report& report) {
  std::printf("%s\n", report.title.c_str());
  for (const std::string& note : report.notes) std::printf("  %s\n", note.c_str());
  std::size_t width = 0;
  for (const Row& row : report.rows) width = std::max(width, row.what.size());
  for (const Row& row : report.rows) {
    const char* const verdict = row.bar.empty() ? "" : row.met ? "ok" : "short";
    std::printf("  %-*s  %8s  %-9s  %s\n", static_cast<int>(width), row.what.c_str(),
                row.value.c_str(), row.bar.c_str(), verdict);
  }
  std::printf("\n");
}

}  // namespace sluice::replay
