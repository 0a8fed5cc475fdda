#include "common/dashboard/report_file.h"

namespace sluice::dashboard {
namespace {

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : text) {
    if (c == '&') {
      html += "&amp;";
    } else if (c == '<') {
      html += "&lt;";
    } else {
      html += c;
    }
  }
  return html;
}

// So that no text of it ends the element that it is in.
std::string within_script(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string page_of(const ReportFile& file, std::string_view text, std::string_view json) {
  std::string page{file.before_text};
  page += escaped(text);
  page += file.before_data;
  page += within_script(json);
  page += file.end;
  return page;
}

}  // namespace sluice::dashboard
