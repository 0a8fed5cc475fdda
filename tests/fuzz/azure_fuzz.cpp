// Goal: no bytes of a day of Azure Functions break what reads them, and times of functions rise
// with their shares. Method: the input is the file of durations, a NUL, and the file of counts.
#include "common/base/check.h"
#include "tests/fuzz/h1_message.h"

#include "load/core/azure_trace.h"
#include "load/core/trace_parser.h"
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

using sluice::Duration;
using sluice::loadgen::AzureDurations;
using sluice::loadgen::ServiceTimes;
using sluice::loadgen::TraceCell;
using sluice::loadgen::TraceFormat;
using sluice::loadgen::TraceParser;

void check(const ServiceTimes& times) {
  if (times.empty()) return;
  Duration before{0};
  for (int percent = 0; percent <= 100; ++percent) {
    const Duration at = times.at(percent / 100.0);
    CHECK(at >= before && at <= std::chrono::hours{24} + std::chrono::seconds{10});
    before = at;
  }
}

void read_counts(std::string_view counts, const AzureDurations& durations) {
  TraceParser parser{{TraceFormat::azure2019, "", &durations}};
  const auto sink = [](const TraceCell& cell) {
    CHECK(cell.length == std::chrono::minutes{1} && cell.at % cell.length == Duration::zero());
    CHECK(cell.at < std::chrono::hours{24} && cell.count >= 1);
    check(cell.service_times);
  };
  if (parser.feed(counts, sink)) return;
  (void)parser.finish(sink);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = sluice::fuzz::text_of(data, size);
  const std::size_t end = bytes.find('\0');
  if (end == std::string_view::npos) return 0;
  AzureDurations whole;
  bool right = !whole.feed(bytes.substr(0, end));
  right = right && !whole.finish();
  AzureDurations cut;
  bool cut_right = true;
  for (std::size_t i = 0; i < end && cut_right; ++i) cut_right = !cut.feed(bytes.substr(i, 1));
  cut_right = cut_right && !cut.finish();
  CHECK(cut_right == right && (!right || cut.skipped() == whole.skipped()));
  read_counts(bytes.substr(end + 1), whole);
  return 0;
}
