#include "load/core/azure_trace.h"

#include "common/values/whole_number.h"

#include "load/core/quantity.h"
#include <algorithm>
#include <utility>

namespace sluice::loadgen {

namespace {

constexpr std::string_view kFunction = "HashOwner,HashApp,HashFunction,";
constexpr std::size_t kFunctionFields = 3;
constexpr std::size_t kMinutesMax = 1440;

struct Percentile {
  std::string_view column;
  double share;
};

constexpr std::array<Percentile, 7> kPercentiles{{{"percentile_Average_0", 0},
                                                  {"percentile_Average_1", 0.01},
                                                  {"percentile_Average_25", 0.25},
                                                  {"percentile_Average_50", 0.50},
                                                  {"percentile_Average_75", 0.75},
                                                  {"percentile_Average_99", 0.99},
                                                  {"percentile_Average_100", 1}}};

// The first three columns of a line.
std::string_view function_of(std::string_view line) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < kFunctionFields && end != std::string_view::npos; ++i) {
    end = line.find(',', i == 0 ? 0 : end + 1);
  }
  return line.substr(0, end);
}

}  // namespace

std::optional<Problem> AzureDurations::feed(std::string_view piece) {
  return lines_.feed(piece, [this](std::string_view line) { return read(line); });
}

std::optional<Problem> AzureDurations::finish() {
  auto problem = lines_.finish([this](std::string_view line) { return read(line); });
  if (problem || width_ > 0) return problem;
  return Problem{"it is empty", "give the file of durations that belongs to the trace"};
}

std::optional<Problem> AzureDurations::read(std::string_view line) {
  if (lines_.is_cut()) return too_long_line();
  const bool whole = fields_.split(line);
  if (width_ == 0) {
    if (whole && line.starts_with(kFunction)) return read_header();
    return Problem{"the header does not begin with " + std::string{kFunction},
                   "give a function_durations_percentiles file of azure2019"};
  }
  if (!whole || fields_.all().size() != width_) {
    ++skipped_;
    return std::nullopt;
  }
  Milliseconds times{};
  for (std::size_t i = 0; i < kPoints; ++i) {
    constexpr double kMost = 86'400'000;
    const auto time = parse_number(fields_.all()[columns_[i]]);
    if (!time || *time > kMost) {
      ++skipped_;
      return std::nullopt;
    }
    times[i] = static_cast<float>(*time);
  }
  if (functions_.size() >= kFunctionsMax) {
    return Problem{"more than 250000 functions", "cut the trace into parts"};
  }
  functions_.insert_or_assign(std::string{function_of(line)}, times);
  return std::nullopt;
}

std::optional<Problem> AzureDurations::read_header() {
  const std::vector<std::string_view>& names = fields_.all();
  for (std::size_t i = 0; i < kPoints; ++i) {
    const auto found = std::find(names.begin(), names.end(), kPercentiles[i].column);
    if (found == names.end()) {
      return Problem{"no column '" + std::string{kPercentiles[i].column} + "'",
                     "give a function_durations_percentiles file of azure2019"};
    }
    columns_[i] = static_cast<std::size_t>(found - names.begin());
  }
  width_ = names.size();
  return std::nullopt;
}

void AzureDurations::find(std::string_view function, ServiceTimes& out) const {
  out.clear();
  const auto found = functions_.find(std::string{function});
  if (found == functions_.end()) return;
  for (std::size_t i = 0; i < kPoints; ++i) {
    out.add(kPercentiles[i].share, from_seconds(static_cast<double>(found->second[i]) / 1e3));
  }
}

bool AzureTrace::is_header(std::string_view line) {
  return line.starts_with(kFunction) && line.substr(kFunction.size()).starts_with("Trigger,1,");
}

Result<AzureTrace, Problem> AzureTrace::open(std::string_view header, std::string trigger,
                                             const AzureDurations* durations) {
  AzureTrace trace;
  const bool whole = is_header(header) && trace.fields_.split(header);
  const std::size_t width = trace.fields_.all().size();
  trace.minutes_ = whole ? width - kFunctionFields - 1 : 0;
  bool in_order = whole && trace.minutes_ <= kMinutesMax;
  for (std::size_t minute = 0; in_order && minute < trace.minutes_; ++minute) {
    const auto number = trace.fields_.all()[kFunctionFields + 1 + minute];
    in_order = whole_number<std::size_t>(number) == minute + 1;
  }
  if (!in_order) {
    return Problem{"the header is not HashOwner,HashApp,HashFunction,Trigger,1,2,… up to 1440",
                   "give an invocations_per_function file of azure2019"};
  }
  trace.trigger_ = std::move(trigger);
  trace.durations_ = durations;
  trace.cell_.length = std::chrono::minutes{1};
  return trace;
}

std::optional<Skip> AzureTrace::read(std::string_view line, const CellSink& sink) {
  if (!fields_.split(line) || fields_.all().size() != kFunctionFields + 1 + minutes_)
    return Skip::fields;
  if (!trigger_.empty() && fields_.all()[kFunctionFields] != trigger_) return Skip::trigger;
  counts_.clear();
  for (std::size_t minute = 0; minute < minutes_; ++minute) {
    const auto count = whole_number<std::uint64_t>(fields_.all()[kFunctionFields + 1 + minute], 0,
                                                   kCellRequestsMax);
    if (!count) return Skip::number;
    counts_.push_back(*count);
  }
  cell_.service = fields_.all()[2];
  cell_.service_times.clear();
  if (durations_ != nullptr) durations_->find(function_of(line), cell_.service_times);
  for (std::size_t minute = 0; minute < minutes_; ++minute) {
    if (counts_[minute] == 0) continue;
    cell_.at = std::chrono::minutes{minute};
    cell_.count = counts_[minute];
    sink(cell_);
  }
  return std::nullopt;
}

}  // namespace sluice::loadgen
