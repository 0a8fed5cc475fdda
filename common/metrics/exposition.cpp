#include "common/metrics/exposition.h"

#include <charconv>
#include <cmath>

namespace sluice::metrics {
namespace {

// Significant ones of a number, as prometheus-cpp has them.
constexpr int kDigits = 16;

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\' || (quotes && c == '"')) {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

std::string_view type_name(MetricType type) {
  switch (type) {
    case MetricType::counter:
      return "counter";
    case MetricType::gauge:
      return "gauge";
    case MetricType::histogram:
      return "histogram";
  }
  return "untyped";
}

// As they stand between the braces.
std::string label_text(const Labels& labels) {
  std::string text;
  for (const Labels::Pair& label : labels.pairs()) {
    if (!text.empty()) text += ',';
    text.append(label.name).append("=\"");
    append_escaped(text, label.value, true);
    text += '"';
  }
  return text;
}

}  // namespace

void Exposition::family(std::string_view name, MetricType type, std::string_view help) {
  name_ = name;
  out_.append("# HELP ").append(name).append(" ");
  append_escaped(out_, help, false);
  out_.append("\n# TYPE ").append(name).append(" ").append(type_name(type)).append("\n");
}

void Exposition::add(const Labels& labels, double number) {
  begin({}, label_text(labels));
  append(number);
}

void Exposition::histogram(const Labels& labelled, const HistogramView& histogram) {
  const std::string labels = label_text(labelled);
  std::uint64_t total = 0;
  for (const std::uint64_t count : histogram.counts) total += count;
  begin("_count", labels);
  append(total);
  begin("_sum", labels);
  append(histogram.sum);
  std::uint64_t up_to = 0;
  for (std::size_t i = 0; i < histogram.bounds.size(); ++i) {
    up_to += histogram.counts[i];
    begin("_bucket", labels, histogram.bounds[i]);
    append(up_to);
  }
  begin("_bucket", labels, "+Inf");
  append(total);
}

void Exposition::begin(std::string_view suffix, std::string_view labels, std::string_view bound) {
  out_.append(name_).append(suffix);
  if (!labels.empty() || !bound.empty()) {
    out_.append("{").append(labels);
    if (!bound.empty()) {
      out_.append(labels.empty() ? "le=\"" : ",le=\"").append(bound).append("\"");
    }
    out_.append("}");
  }
  out_ += ' ';
}

void Exposition::append(double number) {
  if (std::isnan(number)) {
    out_.append("NaN\n");
    return;
  }
  if (std::isinf(number)) {
    out_.append(number < 0 ? "-Inf\n" : "+Inf\n");
    return;
  }
  char digits[40];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, number, std::chars_format::general, kDigits);
  out_.append(digits, end.ptr).append("\n");
}

void Exposition::append(std::uint64_t number) {
  char digits[24];
  out_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr).append("\n");
}

}  // namespace sluice::metrics
