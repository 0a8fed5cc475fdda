#include "platform/process/cores.h"

#include "common/values/whole_number.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <sched.h>

namespace sluice::local {
namespace {

constexpr std::size_t kMaskBits = 8 * sizeof(unsigned long);
constexpr std::size_t kShownCoresMax = 64;

std::optional<int> core_in(std::string_view text) {
  return whole_number<int>(text, 0, kCoreNumbers - 1);
}

}  // namespace

Result<std::vector<int>, Problem> parse_cores(std::string_view text) {
  const Problem wrong{fmt::format("`{}` is no list of cores", text.substr(0, kShownCoresMax)),
                      "write it like 0-1,4"};
  std::vector<int> cores;
  std::string_view rest = text;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
    const std::size_t dash = item.find('-');
    const auto first = core_in(item.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : core_in(item.substr(dash + 1));
    if (!first || !last || *last < *first) return wrong;
    for (int core = *first; core <= *last; ++core) cores.push_back(core);
    // One that is named again makes the list no longer than this.
    if (cores.size() > std::size_t{kCoreNumbers}) return wrong;
  }
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  return cores;
}

std::string format_cores(std::span<const int> cores) {
  std::string text;
  for (std::size_t at = 0; at < cores.size();) {
    std::size_t end = at + 1;
    while (end < cores.size() && cores[end] == cores[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(cores[at]);
    if (end > at + 1) text += '-' + std::to_string(cores[end - 1]);
    at = end;
  }
  return text;
}

std::vector<int> own_cores() {
  std::vector<unsigned long> mask(kCoreNumbers / kMaskBits);
  std::vector<int> cores;
  if (::sched_getaffinity(0, mask.size() * sizeof(unsigned long),
                          reinterpret_cast<cpu_set_t*>(mask.data())) != 0) {
    return cores;
  }
  for (std::size_t core = 0; core < std::size_t{kCoreNumbers}; ++core) {
    if (((mask[core / kMaskBits] >> (core % kMaskBits)) & 1U) != 0)
      cores.push_back(static_cast<int>(core));
  }
  return cores;
}

std::vector<unsigned long> core_mask(std::span<const int> cores) {
  std::vector<unsigned long> mask(kCoreNumbers / kMaskBits);
  for (const int core : cores) {
    const auto number = static_cast<std::size_t>(core);
    mask[number / kMaskBits] |= 1UL << (number % kMaskBits);
  }
  return mask;
}

}  // namespace sluice::local
