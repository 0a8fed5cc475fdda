#include "load/io/report_files.h"

#include "load/core/report_forms.h"
#include "load/io/hdr_log.h"
#include "load/io/report_page.h"
#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace sluice::loadgen {

namespace {

std::string reason(int error) {
  return std::generic_category().message(error);
}

}  // namespace

std::string flag_of(ReportForm form) {
  switch (form) {
    case ReportForm::json:
      return "--json";
    case ReportForm::csv:
      return "--csv";
    case ReportForm::junit:
      return "--junit";
    case ReportForm::markdown:
      return "--markdown";
    case ReportForm::html:
      return "--html";
    case ReportForm::hdr:
      return "--hdr";
  }
  return {};
}

std::string report_in(ReportForm form, std::string_view path, const ReportSource& source) {
  switch (form) {
    case ReportForm::json:
      return report_json(source.report, source.verdicts, source.circumstances, source.compare);
    case ReportForm::csv:
      return report_csv(source.report);
    case ReportForm::junit:
      return report_junit(source.report, source.verdicts, source.circumstances.started_at);
    case ReportForm::markdown:
      return report_markdown(source.report, source.verdicts);
    case ReportForm::html:
      return report_page(report_in(ReportForm::json, path, source), source.text);
    case ReportForm::hdr:
      return path.ends_with(".hgrm") ? percentile_text(source.report.results.whole.latency())
                                     : hdr_log(source.report, source.started);
  }
  return {};
}

std::optional<Problem> ReportFiles::open(const std::vector<ReportFile>& files) {
  for (const ReportFile& file : files) {
    const std::string flag = flag_of(file.form);
    const auto same = [&file](const Open& other) { return other.file.path == file.path; };
    const auto twice = std::find_if(files_.begin(), files_.end(), same);
    if (twice != files_.end()) {
      return Problem{flag + " and " + flag_of(twice->file.form) + " write to the same place, '" +
                         file.path + "'",
                     "give each report a file of its own"};
    }
    Open& opened = files_.emplace_back();
    opened.file = file;
    if (file.path == "-") continue;
    opened.stream.reset(std::fopen(file.path.c_str(), "wbe"));
    if (opened.stream == nullptr) {
      return Problem{"cannot write '" + file.path + "': " + reason(errno),
                     "give " + flag + " a path that can be written"};
    }
  }
  return std::nullopt;
}

const ReportFile* ReportFiles::on_stdout() const {
  for (const Open& open : files_) {
    if (open.stream == nullptr) return &open.file;
  }
  return nullptr;
}

std::vector<Problem> ReportFiles::write(const ReportSource& source) {
  std::vector<Problem> problems;
  for (Open& open : files_) {
    if (open.stream == nullptr) continue;
    errno = 0;
    const std::string text = report_in(open.file.form, open.file.path, source);
    const bool printed = print(text, open.stream.get());
    if (printed && std::fclose(open.stream.release()) == 0) continue;
    problems.push_back({"cannot write all of '" + open.file.path + "': " + reason(errno),
                        "free disk space, or give " + flag_of(open.file.form) + " another path"});
  }
  return problems;
}

bool print(const std::string& text, std::FILE* to) {
  return std::fwrite(text.data(), 1, text.size(), to) == text.size() && std::fflush(to) == 0;
}

}  // namespace sluice::loadgen
