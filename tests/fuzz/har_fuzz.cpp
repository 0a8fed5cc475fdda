// Goal: no bytes of a HAR file break what reads it, the same requests are found however the bytes
// are cut, and what is kept of them is bounded. Method: the input is a whole file, read as a whole,
// byte by byte and by seven.
#include "common/base/check.h"
#include "tests/fuzz/h1_message.h"

#include "load/core/json_stream.h"
#include "load/core/trace_parser.h"
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

using sluice::Duration;
using sluice::loadgen::JsonStream;
using sluice::loadgen::TraceCell;
using sluice::loadgen::TraceFormat;
using sluice::loadgen::TraceParser;

std::string read_requests(std::string_view bytes, std::size_t step) {
  std::string out;
  TraceParser parser{{.format = TraceFormat::har}};
  const auto sink = [&out](const TraceCell& cell) {
    CHECK(cell.at >= Duration::zero() && cell.length <= std::chrono::seconds{1});
    CHECK(cell.count == 1 && !cell.method.empty() && !cell.path.empty());
    CHECK(cell.path.find_first_of(" \r\n") == std::string::npos);
    CHECK(cell.host.find('@') == std::string::npos);
    out += std::to_string(cell.at.count()) + cell.method + cell.host + cell.path + "\n";
  };
  std::optional<sluice::Problem> problem;
  while (!problem && !bytes.empty()) {
    problem = parser.feed(bytes.substr(0, step), sink);
    bytes.remove_prefix(std::min(step, bytes.size()));
  }
  if (!problem) problem = parser.finish(sink);
  return out + (problem ? problem->text() : "") + describe_skipped(parser.facts());
}

void read_values(std::string_view bytes) {
  JsonStream stream;
  const auto sink = [](std::string_view place, std::string_view value) {
    CHECK(place.size() <= JsonStream::kDepthMax * (JsonStream::kKeyMax + 3));
    CHECK(value.size() <= JsonStream::kValueMax);
  };
  if (stream.feed(bytes, sink)) return;
  (void)stream.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = sluice::fuzz::text_of(data, size);
  const std::string whole = read_requests(bytes, size + 1);
  CHECK(read_requests(bytes, 1) == whole);
  CHECK(read_requests(bytes, 7) == whole);
  read_values(bytes);
  return 0;
}
