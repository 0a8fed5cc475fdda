#include "bench/replays/placement/command.h"

#include "bench/replays/placement/replays.h"
#include "common/values/whole_number.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

namespace sluice::replay {
namespace {

struct Named {
  std::string_view name;
  Report (*run)(const Options& options);
};

constexpr std::array kReplays{Named{"R1", run_utilisation}, Named{"R2", run_rejections},
                              Named{"R3", run_move_times}};

int misused() {
  std::fputs("usage: placement_replay [R1] [R2] [R3] [--check] [--quick] [--seed N]\n", stderr);
  return 2;
}

}  // namespace

int run_command(std::span<char* const> arguments) {
  Options options;
  bool check = false;
  std::vector<std::string_view> names;
  for (std::size_t at = 1; at < arguments.size(); ++at) {
    const std::string_view word = arguments[at];
    const bool known = std::any_of(kReplays.begin(), kReplays.end(),
                                   [word](const Named& each) { return each.name == word; });
    if (known) {
      names.push_back(word);
    } else if (word == "--check") {
      check = true;
    } else if (word == "--quick") {
      options.quick = true;
    } else if (word == "--seed" && at + 1 < arguments.size()) {
      const auto seed = whole_number<std::uint64_t>(arguments[++at]);
      if (!seed) return misused();
      options.seed = *seed;
    } else {
      return misused();
    }
  }
  bool met = true;
  for (const Named& each : kReplays) {
    if (!names.empty() && std::find(names.begin(), names.end(), each.name) == names.end()) continue;
    const Report report = each.run(options);
    print(report);
    met = met && report.met();
  }
  return check && !met ? 1 : 0;
}

}  // namespace sluice::replay
