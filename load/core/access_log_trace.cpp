#include "load/core/access_log_trace.h"

namespace sluice::loadgen {

// The first line may have a request that is none, as of one who spoke TLS to a port without it.
std::optional<TraceFormat> AccessLogTrace::format_of(std::string_view line) {
  const auto fits = [line](const LogFormat& format) {
    RecordedRequest request;
    const auto skip = format.read(line, request);
    return request.time && (!skip || skip == Skip::request);
  };
  if (fits(LogFormat::combined())) return TraceFormat::combined;
  if (fits(LogFormat::common())) return TraceFormat::common;
  return std::nullopt;
}

std::optional<Skip> AccessLogTrace::read(std::string_view line, const CellSink& sink) {
  request_.clear();
  if (const auto skip = line_.read(line, request_)) return skip;
  const auto begin = begin_of(request_);
  if (!begin) return Skip::time;
  return cells_.add(request_.cell, *begin, line.size(), sink);
}

}  // namespace sluice::loadgen
