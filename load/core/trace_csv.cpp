#include "load/core/trace_csv.h"

#include "common/http/text.h"
#include "common/values/rfc3339.h"

#include <array>
#include <charconv>
#include <cstdint>

namespace sluice::loadgen {

namespace {

constexpr std::string_view kQuoted = ",\"\r\n";

// `whole.fraction`, of which one is a million.
void append_millionths(std::string& out, std::int64_t millionths) {
  constexpr std::int64_t kOne = 1'000'000;
  constexpr std::size_t kDigits = 6;
  http::append_number(out, millionths / kOne);
  std::array<char, kDigits> digits{};
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), millionths % kOne).ptr;
  const auto size = static_cast<std::size_t>(end - digits.data());
  out.append(1, '.').append(kDigits - size, '0').append(digits.data(), size);
}

}  // namespace

std::string_view csv_header(bool dated) {
  return dated ? "time,method,path,host,service,duration_ms,status,body_bytes\n"
               : "at_s,method,path,host,service,duration_ms,status,body_bytes\n";
}

void append_csv_field(std::string& out, std::string_view text) {
  if (text.find_first_of(kQuoted) == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    // A field ends with its line.
    out += c == '\r' || c == '\n' ? ' ' : c;
  }
  out += '"';
}

void append_csv(std::string& out, const TraceArrival& arrival, std::optional<TimePoint> origin) {
  const TraceCell& cell = *arrival.cell;
  if (origin) {
    out += rfc3339(*origin + arrival.at, Fraction::microseconds);
  } else {
    append_millionths(out, arrival.at / std::chrono::microseconds{1});
  }
  for (const std::string* text : {&cell.method, &cell.path, &cell.host, &cell.service}) {
    out += ',';
    append_csv_field(out, *text);
  }
  out += ',';
  if (arrival.duration) append_millionths(out, arrival.duration->count());
  out += ',';
  if (cell.status) http::append_number(out, *cell.status);
  out += ',';
  if (cell.body_bytes) http::append_number(out, *cell.body_bytes);
  out += '\n';
}

}  // namespace sluice::loadgen
