#include "load/core/har_trace.h"

#include "common/values/whole_number.h"

#include "load/core/json_text.h"
#include "load/core/target.h"
#include "load/core/trace_lines.h"
#include <algorithm>
#include <array>

namespace sluice::loadgen {

namespace {

constexpr std::string_view kEntry = "log.entries[]";
constexpr std::array<std::string_view, 4> kBegin{"{", "\"log\"", ":", "{"};
constexpr std::size_t kEntryBytes = 256;  // about what is kept of one

}  // namespace

// The object's only member, an object too. `{"log":"…"}` is a line of a container's log.
std::optional<bool> HarTrace::begins(std::string_view bytes) {
  if (kByteOrderMark.starts_with(bytes)) return std::nullopt;
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  for (const std::string_view token : kBegin) {
    bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size()));
    const std::string_view there = bytes.substr(0, token.size());
    if (there != token.substr(0, there.size())) return false;
    if (there.size() < token.size()) return std::nullopt;
    bytes.remove_prefix(token.size());
  }
  return true;
}

std::optional<Problem> HarTrace::feed(std::string_view piece, const CellSink& sink,
                                      const SkipSink& skipped) {
  return json_.feed(piece, [&](std::string_view place, std::string_view value) {
    if (!place.starts_with(kEntry)) return;
    place.remove_prefix(kEntry.size());
    if (!place.empty()) {
      take(place, value);
    } else if (value.empty()) {
      ++entries_;
      if (const auto skip = end_entry(sink)) skipped(*skip);
    }
  });
}

std::optional<Problem> HarTrace::finish(const CellSink& sink) {
  if (auto problem = json_.finish()) return problem;
  cells_.finish(sink);
  return std::nullopt;
}

void HarTrace::take(std::string_view field, std::string_view value) {
  const auto need = [this](bool right, Skip skip) {
    if (!right && !wrong_) wrong_ = skip;
  };
  TraceCell& cell = request_.cell;
  if (field == ".startedDateTime") {
    request_.time = dates_.read(json_text(value).value_or(""));
  } else if (field == ".time") {
    cell.duration = read_span(value, std::chrono::milliseconds{1});
  } else if (field == ".request.method") {
    cell.method = json_text(value).value_or("");
    need(is_token(cell.method), Skip::request);
  } else if (field == ".request.url") {
    need(put_target(json_text(value).value_or(""), cell), Skip::request);
  } else if (field == ".request.bodySize") {
    cell.body_bytes = whole_number<std::uint64_t>(value);
  } else if (field == ".response.status") {
    cell.status = whole_number<int>(value, 100, 599);
  }
}

std::optional<Skip> HarTrace::end_entry(const CellSink& sink) {
  std::optional<Skip> skip = wrong_;
  if (!skip && !request_.time) skip = Skip::time;
  const bool named = !request_.cell.method.empty() && !request_.cell.path.empty();
  if (!skip && !named) skip = Skip::request;
  if (!skip) skip = cells_.add(request_.cell, *request_.time, kEntryBytes, sink);
  request_.clear();
  wrong_.reset();
  return skip;
}

}  // namespace sluice::loadgen
