#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::loadgen {

/// No page is larger, but for what a text of the plan (a command, a scenario's names) adds.
inline constexpr std::size_t kPageBytesMax = std::size_t{5} << 20U;

/// A report as a page of one file that opens from disk: `text` as it stands, and charts of `json`,
/// which is what report_json() makes. In the page the histograms of seconds have four buckets for
/// each doubling, which is what a chart shows. If it would be larger than kPageBytesMax, seconds
/// are joined two by two, which their `for_s` says; then rows of scaling, then the services of
/// `scaling` are left out.
[[nodiscard]] std::string report_page(std::string_view json, std::string_view text);

}  // namespace sluice::loadgen
