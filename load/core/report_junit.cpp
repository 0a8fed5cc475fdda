#include "load/core/quantity.h"
#include "load/core/report_forms.h"
#include <algorithm>
#include <string_view>

namespace sluice::loadgen {

namespace {

// XML has no control characters, escaped or not.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::string attribute(const char* name, const std::string& value) {
  return std::string{" "} + name + "=\"" + escaped(value) + "\"";
}

}  // namespace

std::string sentence_of(const Verdict& verdict) {
  return (verdict.use == Use::fail_if ? "fail if " : "") + verdict.expression + ": " +
         verdict.shown;
}

std::string report_junit(const Report& report, const std::vector<Verdict>& verdicts,
                         const std::string& started_at) {
  const auto failed = std::count_if(verdicts.begin(), verdicts.end(),
                                    [](const Verdict& verdict) { return verdict.failed; });
  const auto unknown = std::count_if(verdicts.begin(), verdicts.end(),
                                     [](const Verdict& verdict) { return !verdict.actual; });
  const std::string seconds = plain(to_seconds(report.length));
  const std::string counts = attribute("tests", std::to_string(verdicts.size())) +
                             attribute("failures", std::to_string(failed)) +
                             attribute("errors", std::to_string(unknown)) +
                             attribute("time", seconds);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + counts + ">\n";
  out += "  <testsuite" + attribute("name", run_name(report.plan)) + counts +
         attribute("timestamp", started_at) + ">\n";
  for (const Verdict& verdict : verdicts) {
    const std::string name = (verdict.use == Use::fail_if ? "fail if " : "") + verdict.expression;
    out += "    <testcase" + attribute("classname", run_name(report.plan)) +
           attribute("name", name) + attribute("time", "0");
    if (verdict.actual && !verdict.failed) {
      out += "/>\n";
      continue;
    }
    const std::string kind = verdict.failed ? "failure" : "error";
    out += ">\n      <" + kind + attribute("message", sentence_of(verdict)) + "/>\n";
    out += "    </testcase>\n";
  }
  out += "    <system-out>" + escaped(describe(report.plan)) + "</system-out>\n";
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace sluice::loadgen
