#include "load/io/comparison_text.h"

#include <fmt/format.h>

#include "load/core/quantity.h"
#include <array>
#include <cmath>
#include <cstdlib>

namespace sluice::loadgen {

namespace {

constexpr std::size_t kMarkdownMax = 4096;
constexpr std::size_t kNameMax = 60;  // of what others wrote, in a line

struct Cells {
  std::string figure;
  std::string before;
  std::string now;
  std::string change;
  std::string interval;
  std::string verdict;
};

std::string shown(Figure figure, std::optional<double> value) {
  if (!value) return "-";
  switch (figure) {
    case Figure::p50:
    case Figure::p90:
    case Figure::p99:
    case Figure::p99_9:
    case Figure::max:
      return milliseconds(from_seconds(*value)) + " ms";
    case Figure::error_rate:
      return fmt::format("{:.3g} %", *value * 100);
    case Figure::rate:
      return fmt::format("{:.1f}/s", *value);
    case Figure::cold_start:
    case Figure::time_to_zero:
      return spoken(from_seconds(*value));
    case Figure::replicas_max:
      return plain(*value);
    case Figure::replica_seconds:
      return fmt::format("{:.1f}", *value);
  }
  return {};
}

// Of a change in percent, of an error rate in points of it.
std::string percent(double value) {
  const double size = std::abs(value * 100);
  return fmt::format("{:+.{}f}", value * 100, size < 0.095 ? 2 : size < 99.5 ? 1 : 0);
}

std::string change_of(const Compared& row) {
  if (!row.change) return "-";
  return percent(*row.change) + (row.figure == Figure::error_rate ? " points" : " %");
}

std::string interval_of(const Compared& row) {
  if (!row.low) return "-";
  return percent(*row.low) + " to " + percent(*row.high);
}

std::string verdict_of(const Compared& row) {
  std::string text{name_of(row.judgement)};
  if (row.judgement != Judgement::unclear) return text;
  if (row.more) {
    const double seconds = std::ceil(to_seconds(*row.more));
    return text + ": runs about " + grouped(static_cast<std::uint64_t>(seconds)) +
           " s longer would tell";
  }
  if (!row.before || !row.now) return text + ": one run has no such figure";
  return text + ": more runs of one name would tell";
}

std::vector<Cells> rows_of(const RunComparison& comparison) {
  std::vector<Cells> out{{"figure", "before", "now", "change", "95 % interval", "verdict"}};
  for (const Compared& row : comparison.figures) {
    out.push_back({std::string{name_of(row.figure)}, shown(row.figure, row.before),
                   shown(row.figure, row.now), change_of(row), interval_of(row), verdict_of(row)});
  }
  return out;
}

// The end of it, which tells paths apart.
std::string short_name(const std::string& name) {
  return name.size() <= kNameMax ? name : "…" + name.substr(name.size() - kNameMax);
}

std::string files_of(const RunComparison& comparison) {
  std::string out = short_name(comparison.runs.front()->file);
  const std::size_t others = comparison.runs.size() - 1;
  if (others == 0) return out;
  return fmt::format("{} and {} {} of that name (medians)", out, others,
                     others == 1 ? "run" : "runs");
}

std::string title_of(const RunComparison& comparison, const ComparedRun& baseline) {
  const std::string name = comparison.name.empty() ? "" : short_name(comparison.name) + ": ";
  return name + sentence(comparison, baseline);
}

std::string table_of(const std::vector<Cells>& rows) {
  std::array<std::size_t, 5> widths{};
  const auto fields = [](const Cells& row) {
    return std::array<const std::string*, 5>{&row.figure, &row.before, &row.now, &row.change,
                                             &row.interval};
  };
  for (const Cells& row : rows) {
    const auto cells = fields(row);
    for (std::size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], cells[i]->size());
  }
  std::string out;
  for (const Cells& row : rows) {
    const auto cells = fields(row);
    out += "  ";
    for (std::size_t i = 0; i < cells.size(); ++i)
      out += fmt::format("{:<{}}  ", *cells[i], widths[i]);
    out += row.verdict + "\n";
  }
  return out;
}

// What a table of Markdown would take for its own.
std::string in_markdown(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '`' || c == '*' || c == '<' || c == '[' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string markdown_of(const RunComparison& comparison, const ComparedRun& baseline) {
  std::string out = "**" + in_markdown(title_of(comparison, baseline)) + "**\n\n";
  const std::vector<Cells> rows = rows_of(comparison);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Cells& row = rows[i];
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", row.figure, row.before, row.now,
                       row.change, row.interval, row.verdict);
    if (i == 0) out += "|---|---|---|---|---|---|\n";
  }
  for (const std::string& warning : comparison.warnings) out += "\n- " + in_markdown(warning);
  return out + (comparison.warnings.empty() ? "\n" : "\n\n");
}

}  // namespace

std::string sentence(const RunComparison& comparison, const ComparedRun& baseline) {
  std::string why;
  for (const Compared& row : comparison.figures) {
    if (row.judgement != comparison.judgement || row.judgement == Judgement::same) continue;
    why += why.empty() ? ": " : ", ";
    why += std::string{name_of(row.figure)} + " " + change_of(row);
  }
  const std::string file = short_name(baseline.file);
  switch (comparison.judgement) {
    case Judgement::same:
      return "the same as " + file;
    case Judgement::better:
      return "better than " + file + why;
    case Judgement::worse:
      return "worse than " + file + why;
    case Judgement::unclear:
      return "unclear beside " + file + why;
  }
  return {};
}

std::string comparison_text(const Comparisons& comparisons) {
  std::string out;
  const ComparedRun& baseline = *comparisons.baseline;
  for (const RunComparison& comparison : comparisons.all) {
    if (!out.empty()) out += "\n";
    out += title_of(comparison, baseline) + "\n";
    out += "  before " + short_name(baseline.file) + ", now " + files_of(comparison) +
           ", tolerance " + plain(comparisons.tolerance * 100) + " %\n";
    for (const std::string& warning : comparison.warnings) out += "  warning: " + warning + "\n";
    out += table_of(rows_of(comparison));
  }
  return out;
}

std::string comparison_markdown(const Comparisons& comparisons) {
  std::string out;
  std::size_t left_out = comparisons.all.size();
  for (const RunComparison& comparison : comparisons.all) {
    const std::string next = markdown_of(comparison, *comparisons.baseline);
    constexpr std::size_t kRest = 80;  // for the last line
    if (out.size() + next.size() + kRest > kMarkdownMax) break;
    out += next;
    --left_out;
  }
  if (left_out > 0) out += fmt::format("\n{} more comparisons are left out.\n", left_out);
  return out;
}

}  // namespace sluice::loadgen
