#pragma once

#include "common/base/result.h"

#include "load/core/report.h"
#include "load/io/report_json.h"
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loadgen {

/// What a run leaves beside the text for a person.
enum class ReportForm {
  json,
  csv,
  junit,
  markdown,
  html,
  hdr,  ///< a histogram log, or of a file `.hgrm` the percentiles
};

/// A report that was asked for with `--FORM FILE`.
struct ReportFile {
  ReportForm form = ReportForm::json;
  std::string path;     ///< `-`: standard output
  bool by_flag = true;  ///< not by `-o`, which wants nothing beside it
};

/// `--json` and so on.
[[nodiscard]] std::string flag_of(ReportForm form);

/// All that reports are made from.
struct ReportSource {
  const Report& report;
  const std::vector<Verdict>& verdicts;
  const Circumstances& circumstances;
  TimePoint started;
  const std::string& text;     ///< for a person
  const std::string& compare;  ///< `compare` of the JSON
};

/// The report in one form; `path` says which of two.
[[nodiscard]] std::string report_in(ReportForm form, std::string_view path,
                                    const ReportSource& source);

/// The files of reports, opened before a run so that none is made for nothing.
class ReportFiles {
 public:
  /// A problem if one cannot be opened, two are one file, or two go to standard output.
  [[nodiscard]] std::optional<Problem> open(const std::vector<ReportFile>& files);

  /// The one for standard output.
  [[nodiscard]] const ReportFile* on_stdout() const;

  /// Writes all others; what was wrong with any of them.
  [[nodiscard]] std::vector<Problem> write(const ReportSource& source);

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  struct Open {
    ReportFile file;
    std::unique_ptr<std::FILE, Closer> stream;  // none: standard output
  };

  std::vector<Open> files_;
};

/// Writes all of `text`; false if that is not possible.
[[nodiscard]] bool print(const std::string& text, std::FILE* to);

}  // namespace sluice::loadgen
