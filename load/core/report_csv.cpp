#include "load/core/quantity.h"
#include "load/core/report_forms.h"
#include "load/core/second_rows.h"
#include <cmath>

namespace sluice::loadgen {

namespace {

// A name may have what separates fields.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string{"\"\""} : std::string(1, c);
  return out + "\"";
}

std::string number(double value) {
  return plain(std::round(value * 1e3) / 1e3);
}

std::string ms(const std::optional<Duration>& time) {
  return time ? number(to_seconds(*time) * 1e3) : std::string{};
}

}  // namespace

std::string report_csv(const Report& report) {
  std::string out =
      "at_s,for_s,target,phase,rate_planned,sent,answered,errors,not_sent,in_flight,p50_ms,p99_ms,"
      "max_ms\n";
  for (const SecondRow& row : second_rows(report)) {
    out += number(to_seconds(row.at)) + "," + number(to_seconds(row.length)) + ",";
    out += field(row.target) + "," + field(row.phase) + ",";
    if (row.rate_planned) out += number(*row.rate_planned);
    for (const std::uint64_t count : {row.counts->sent, row.counts->answered, row.counts->errors,
                                      row.counts->not_sent, row.in_flight}) {
      out += "," + std::to_string(count);
    }
    out += "," + ms(row.p50) + "," + ms(row.p99) + "," + ms(row.max) + "\n";
  }
  return out;
}

}  // namespace sluice::loadgen
