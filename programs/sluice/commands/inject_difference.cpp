// The shortest way from one text to another by whole lines (Myers, 1986), told with three lines of
// context.

#include "programs/sluice/commands/inject_yaml.h"
#include <algorithm>
#include <cstddef>

namespace sluice::commands {
namespace {

using Lines = std::vector<std::string_view>;

constexpr std::ptrdiff_t kContext = 3;
// Texts that are further apart than this are shown as one replaced block.
constexpr std::ptrdiff_t kEditsMax = 1500;

struct Step {
  char sign = ' ';
  std::string_view line;
};

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// How far one gets on each diagonal with so many edits; kept for the way back.
class Frontiers {
 public:
  Frontiers(const Lines& before, const Lines& after)
      : before_{before},
        after_{after},
        n_{static_cast<std::ptrdiff_t>(before.size())},
        m_{static_cast<std::ptrdiff_t>(after.size())} {}

  // Edits that lead to the end; negative: more than the limit.
  std::ptrdiff_t search() {
    for (std::ptrdiff_t edits = 0; edits <= std::min(n_ + m_, kEditsMax); ++edits) {
      reach_.emplace_back(static_cast<std::size_t>(2 * edits + 1));
      for (std::ptrdiff_t k = -edits; k <= edits; k += 2) {
        std::ptrdiff_t x = edits == 0                   ? 0
                           : comes_from_above(edits, k) ? at(edits - 1, k + 1)
                                                        : at(edits - 1, k - 1) + 1;
        while (x < n_ && x - k < m_ && x - k >= 0 && same(x, x - k)) ++x;
        at(edits, k) = x;
        if (x >= n_ && x - k >= m_) return edits;
      }
    }
    return -1;
  }

  std::vector<Step> way(std::ptrdiff_t edits) {
    std::vector<Step> steps;
    std::ptrdiff_t x = n_;
    std::ptrdiff_t y = m_;
    for (; edits > 0; --edits) {
      const std::ptrdiff_t k = x - y;
      const bool above = comes_from_above(edits, k);
      const std::ptrdiff_t start = above ? at(edits - 1, k + 1) : at(edits - 1, k - 1) + 1;
      for (; x > start; --x, --y) steps.push_back({' ', before_[static_cast<std::size_t>(x - 1)]});
      if (above) {
        steps.push_back({'+', after_[static_cast<std::size_t>(--y)]});
      } else {
        steps.push_back({'-', before_[static_cast<std::size_t>(--x)]});
      }
    }
    for (; x > 0; --x) steps.push_back({' ', before_[static_cast<std::size_t>(x - 1)]});
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

 private:
  std::ptrdiff_t& at(std::ptrdiff_t edits, std::ptrdiff_t k) {
    return reach_[static_cast<std::size_t>(edits)][static_cast<std::size_t>(k + edits)];
  }

  bool comes_from_above(std::ptrdiff_t edits, std::ptrdiff_t k) {
    if (k == -edits) return true;
    return k != edits && at(edits - 1, k - 1) < at(edits - 1, k + 1);
  }

  [[nodiscard]] bool same(std::ptrdiff_t x, std::ptrdiff_t y) const {
    return before_[static_cast<std::size_t>(x)] == after_[static_cast<std::size_t>(y)];
  }

  const Lines& before_;  // the caller's, as the other
  const Lines& after_;
  std::ptrdiff_t n_;
  std::ptrdiff_t m_;
  std::vector<std::vector<std::ptrdiff_t>> reach_;
};

std::vector<Step> steps_between(const Lines& before, const Lines& after) {
  Frontiers frontiers{before, after};
  const std::ptrdiff_t edits = frontiers.search();
  if (edits >= 0) return frontiers.way(edits);
  std::vector<Step> steps;
  for (const std::string_view line : before) steps.push_back({'-', line});
  for (const std::string_view line : after) steps.push_back({'+', line});
  return steps;
}

std::string range(std::size_t from, std::size_t count) {
  return std::to_string(count == 0 ? from : from + 1) + "," + std::to_string(count);
}

}  // namespace

std::string unified_difference(std::string_view before, std::string_view after) {
  const std::vector<Step> steps = steps_between(lines_of(before), lines_of(after));
  const auto changed = [](const Step& step) { return step.sign != ' '; };
  std::string out;
  auto told = steps.begin();
  std::size_t old_line = 0;
  std::size_t new_line = 0;
  const auto count = [](auto from, auto to, char other) {
    return static_cast<std::size_t>(
        std::count_if(from, to, [&](const Step& s) { return s.sign != other; }));
  };
  while (true) {
    const auto first = std::find_if(told, steps.end(), changed);
    if (first == steps.end()) return out;
    const auto from = first - std::min(kContext, first - told);
    auto to = first;
    while (true) {  // on to the end of the hunk: the next change is further off than two contexts
      to = std::find_if_not(to, steps.end(), changed);
      const auto next = std::find_if(to, steps.end(), changed);
      if (next == steps.end() || next - to > 2 * kContext) break;
      to = next;
    }
    to += std::min(kContext, steps.end() - to);
    old_line += count(told, from, '+');
    new_line += count(told, from, '-');
    const std::size_t olds = count(from, to, '+');
    const std::size_t news = count(from, to, '-');
    out += "@@ -" + range(old_line, olds) + " +" + range(new_line, news) + " @@\n";
    for (auto step = from; step != to; ++step) {
      out += step->sign;
      out.append(step->line) += '\n';
    }
    old_line += olds;
    new_line += news;
    told = to;
  }
}

}  // namespace sluice::commands
