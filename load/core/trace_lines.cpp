#include "load/core/trace_lines.h"

#include "load/core/trace.h"
#include <utility>

namespace sluice::loadgen {

std::optional<Problem> TraceLines::feed(std::string_view piece, const LineSink& line) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    std::string_view part = piece.substr(0, end);
    const bool ends = end != std::string_view::npos;
    piece.remove_prefix(ends ? end + 1 : piece.size());
    if (passing_over_) {
      passing_over_ = !ends;
      continue;
    }
    const std::size_t room = kTraceLineMax - begun_.size();
    cut_ = part.size() > room;
    part = part.substr(0, room);
    const bool whole = ends || cut_;
    if (!whole || !begun_.empty()) begun_.append(part);
    if (!whole) return std::nullopt;
    passing_over_ = !ends;
    if (auto problem = pass(begun_.empty() ? part : begun_, line)) return problem;
    begun_.clear();
  }
  return std::nullopt;
}

std::optional<Problem> TraceLines::finish(const LineSink& line) {
  cut_ = false;
  return begun_.empty() ? std::nullopt : pass(std::exchange(begun_, {}), line);
}

std::optional<Problem> TraceLines::pass(std::string_view line, const LineSink& sink) {
  ++number_;
  if (number_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) return std::nullopt;
  auto problem = sink(line);
  if (problem) problem->what = "line " + std::to_string(number_) + ": " + problem->what;
  return problem;
}

Problem too_long_line() {
  return {"it is longer than 64 KiB", "give a trace of shorter lines"};
}

bool CsvFields::split(std::string_view line) {
  fields_.clear();
  unquoted_.clear();
  unquoted_.reserve(line.size());
  while (true) {
    if (line.starts_with('"')) {
      if (!take_quoted(line)) return false;
    } else {
      const std::size_t comma = line.find(',');
      fields_.push_back(line.substr(0, comma));
      line.remove_prefix(fields_.back().size());
    }
    if (line.empty()) return true;
    line.remove_prefix(1);
  }
}

bool CsvFields::take_quoted(std::string_view& rest) {
  const std::size_t begin = unquoted_.size();
  bool doubled = false;
  std::string_view left = rest.substr(1);
  while (true) {
    const std::size_t quote = left.find('"');
    if (quote == std::string_view::npos) return false;
    if (left.substr(quote + 1).starts_with('"')) {
      unquoted_.append(left.substr(0, quote + 1));
      left.remove_prefix(quote + 2);
      doubled = true;
      continue;
    }
    const std::string_view last = left.substr(0, quote);
    if (doubled) {
      unquoted_.append(last);
      fields_.push_back(std::string_view{unquoted_}.substr(begin));
    } else {
      fields_.push_back(last);
    }
    rest = left.substr(quote + 1);
    return rest.empty() || rest.front() == ',';
  }
}

}  // namespace sluice::loadgen
