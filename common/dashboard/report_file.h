#pragma once

#include <string>
#include <string_view>

namespace sluice::dashboard {

/// A page of one file that opens from disk, as the build has put it into the program: these three
/// with a text and with data between them. The text is HTML; the data is JSON without a `<`.
struct ReportFile {
  std::string_view before_text;
  std::string_view before_data;
  std::string_view end;
};

/// Of `sluice simulate`. Its data: `title`, `dated` (times are seconds since 1970, else since the
/// start), `step` (seconds between rows), `columns` and `rows`, each the time, whether it was
/// panic, and the columns.
[[nodiscard]] ReportFile simulation_report();

/// Of `sluice load`. Its data: `runs`, reports of load/README.md, the baseline before the run that
/// it is for where there is one.
[[nodiscard]] ReportFile load_report();

/// The whole page with this text, which is shown as it stands, and this JSON.
[[nodiscard]] std::string page_of(const ReportFile& file, std::string_view text,
                                  std::string_view json);

}  // namespace sluice::dashboard
