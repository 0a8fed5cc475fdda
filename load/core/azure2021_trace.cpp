#include "load/core/azure2021_trace.h"

#include <string>

namespace sluice::loadgen {

namespace {

constexpr std::string_view kHeader = "app,func,end_timestamp,duration";
constexpr std::size_t kFields = 4;

}  // namespace

bool Azure2021Trace::is_header(std::string_view line) {
  return line == kHeader;
}

Result<Azure2021Trace, Problem> Azure2021Trace::open(std::string_view header) {
  if (is_header(header)) return Azure2021Trace{};
  return Problem{"the header is not " + std::string{kHeader},
                 "give the file of the Azure Functions trace of 2021"};
}

std::optional<Skip> Azure2021Trace::read(std::string_view line, const CellSink& sink) {
  if (!fields_.split(line) || fields_.all().size() != kFields) return Skip::fields;
  request_.clear();
  request_.cell.service = fields_.all()[1];
  request_.at_end = true;
  request_.time = read_offset(fields_.all()[2]);
  if (!request_.time) return Skip::time;
  request_.time->digits = kExactDigits;
  request_.cell.duration = read_span(fields_.all()[3], std::chrono::seconds{1});
  if (!request_.cell.duration) return Skip::number;
  return cells_.add(request_.cell, *begin_of(request_), line.size(), sink);
}

}  // namespace sluice::loadgen
