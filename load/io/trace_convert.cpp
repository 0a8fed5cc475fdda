#include "load/io/trace_convert.h"

#include "load/core/count_window.h"
#include "load/core/trace_arrivals.h"
#include "load/core/trace_csv.h"
#include "load/io/trace_file.h"
#include <string>
#include <utility>

namespace sluice::loadgen {

namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::size_t kPieceBytes = 64U << 10U;

// The lines of a trace, as they become known.
class CsvLines {
 public:
  explicit CsvLines(const ByteSink& out) : out_{out} {}

  void add(const TraceCell& cell, TraceFormat format) {
    arrivals_.keep_order(order_kept(format));
    arrivals_.add(cell);
  }

  void end() { arrivals_.end(); }

  std::optional<Problem> write(std::optional<TimePoint> origin) {
    while (const auto arrival = arrivals_.next()) {
      if (requests_++ == 0) text_ = csv_header(origin.has_value());
      append_csv(text_, *arrival, origin);
      if (text_.size() < kPieceBytes) continue;
      if (auto problem = flush()) return problem;
    }
    return flush();
  }

  [[nodiscard]] std::uint64_t requests() const { return requests_; }

 private:
  std::optional<Problem> flush() {
    auto problem = text_.empty() ? std::nullopt : out_(text_);
    text_.clear();
    return problem;
  }

  const ByteSink& out_;  // of the caller, who outlives this
  TraceArrivals arrivals_{kSeed};
  std::string text_;
  std::uint64_t requests_ = 0;
};

// Writes the counts of the first window, and those of the others.
std::optional<Problem> write_counts(CountWindow counts, const TraceName& name,
                                    const TraceOptions& options, CsvLines& lines) {
  while (true) {
    std::optional<Problem> problem;
    counts.pass_on([&](const TraceCell& cell) {
      lines.add(cell, TraceFormat::azure2019);
      if (!problem) problem = lines.write(std::nullopt);
    });
    if (problem) return problem;
    if (counts.end() >= CountWindow::kDay) break;
    counts = CountWindow{counts.end()};
    auto again = TraceFile::open(name, options);
    if (!again) return again.error();
    while (!again->ended()) {
      problem = again->read([&counts](const TraceCell& cell) { counts.add(cell); });
      if (problem) return problem;
    }
  }
  lines.end();
  return lines.write(std::nullopt);
}

}  // namespace

Result<Converted, Problem> convert_trace(const TraceName& name, const TraceOptions& options,
                                         const ByteSink& out) {
  auto file = TraceFile::open(name, options);
  if (!file) return file.error();
  CsvLines lines{out};
  CountWindow counts{Duration::zero()};
  while (!file->ended()) {
    auto problem = file->read([&](const TraceCell& cell) {
      const TraceFormat format = file->facts().format;
      if (format == TraceFormat::azure2019) {
        counts.add(cell);
      } else {
        lines.add(cell, format);
      }
    });
    if (problem) return *std::move(problem);
    if (file->facts().format == TraceFormat::azure2019) continue;
    if (file->ended()) lines.end();
    if (auto unwritten = lines.write(file->facts().origin)) return *std::move(unwritten);
  }
  if (file->facts().format == TraceFormat::azure2019) {
    if (auto problem = write_counts(std::move(counts), name, options, lines)) {
      return *std::move(problem);
    }
  }
  return Converted{file->facts(), lines.requests()};
}

}  // namespace sluice::loadgen
