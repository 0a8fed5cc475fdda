#pragma once

#include "tests/unit/memory-pressure/core/scene.h"

#include "memory-pressure/core/journal_record.h"
#include "memory-pressure/core/reconciler.h"
#include <deque>
#include <map>
#include <string>
#include <string_view>

namespace sluice::node_agent {

/// A runtime and its kernel on a bench: carries out actions in order, with the next outcomes, and
/// records its calls in one line. The scene's quotas are the kernel.
class RuntimeBench {
 public:
  explicit RuntimeBench(Scene& scene, ReconcilerSettings settings = {.boot_id = "boot"});

  /// The outcomes of the next updates and stops; ok once they are used up. Prefixed by `+` the
  /// effect takes place all the same, `~` half of it.
  void outcomes(std::initializer_list<std::string_view> next) { outcomes_.assign(next); }

  /// Ticks `milliseconds` later with `throttled` ("a:25 b:frozen") wanted; answers the line, as in
  /// `journal a, a 2503/100000, read a`.
  std::string tick(std::string_view throttled, std::int64_t milliseconds = 250);
  std::string tick(const Decision& wanted, std::int64_t milliseconds = 250);

  /// What the kernel enforces, `a 2503/100000`.
  std::string kernel(const std::string& id);

  Reconciler reconciler;
  std::string journal;     ///< all lines ever written
  bool disk_full = false;  ///< records cannot be written
  bool silent = false;     ///< calls take effect and are never answered
  std::size_t calls = 0;   ///< updates and stops sent

 private:
  void carry_out(const std::vector<Action>& actions);
  void update(const Update& update);
  void freeze(const Freeze& freeze);
  void stop(const Stop& stop);
  std::string next_outcome();
  void say(const std::string& words);

  Scene& scene_;
  std::deque<std::string_view> outcomes_;
  std::string said_;
  std::string unwritten_;
};

/// A decision that wants no more than these throttles, in thousandths of a core or `frozen`.
[[nodiscard]] Decision wanting(std::string_view throttled);

}  // namespace sluice::node_agent
