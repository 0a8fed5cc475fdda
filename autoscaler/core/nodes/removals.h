#pragma once

#include "autoscaler/placement/core/grant.h"
#include "common/base/ids.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::autoscaler {

/// A pod that may be chosen to go.
struct RemovalCandidate {
  PodId id;
  bool ready = false;
  bool throttled = false;        ///< held back on its node
  bool terminating = false;      ///< it is already being stopped
  bool failed = false;           ///< it cannot become ready as it is
  std::string_view place{};      ///< where it runs; empty: there is one place only
  std::optional<double> load{};  ///< requests in flight at the last report; absent: none yet
};

/// Which pods of a revision leave, and which of them may be stopped (protocols.md 3, rule 5).
///
/// A pod is first chosen and put into `avoid`. Only when all activators avoid it may it be stopped.
/// Until the platform stops it, the choice can be withdrawn when more pods are wanted again.
class Removals {
 public:
  /// Pods that an earlier run released to be stopped.
  explicit Removals(std::span<const PodId> released = {});

  /// Compares the pods there are with how many are `wanted` and chooses which to remove, idlest
  /// first (a pod that has failed before one that starts; of pods alike a throttled one), or takes
  /// choices back, the busiest first. Pods that have gone are dropped. `pods` are in the order
  /// of their age, the youngest last, as far as that is known. `places`: how many of those wanted
  /// are to be in each place; empty: there is one only. Returns whether leaving() has changed for
  /// any pod.
  bool plan(std::span<const RemovalCandidate> pods, std::int32_t wanted,
            std::span<const placement::PlaceShare> places = {});

  /// In the order in which plan() chooses them.
  static void sort(std::vector<const RemovalCandidate*>& pods);

  /// The pods that were chosen since the last call are avoided from this version on.
  void told(std::uint64_t version);

  /// Drops those whose version `applied` confirms. Returns whether released() has changed.
  bool release(const std::function<bool(std::uint64_t version)>& applied);

  [[nodiscard]] bool leaving(const PodId& pod) const;

  /// The versions whose application is still waited for, the lowest of them; absent: nothing waits.
  [[nodiscard]] std::optional<std::uint64_t> awaited() const;

  /// May be stopped now, in the order they were chosen.
  [[nodiscard]] std::vector<PodId> released() const;

 private:
  struct Leaving {
    PodId id;
    std::uint64_t version = 0;  // 0: nothing was sent yet
    bool released = false;
  };

  bool forget_gone(std::span<const RemovalCandidate> pods);
  using Candidates = std::vector<const RemovalCandidate*>;

  bool plan_place(const Candidates& pods, std::int32_t wanted);
  bool take_back(const Candidates& pods, std::size_t count);
  void choose(Candidates staying, std::size_t count);

  std::vector<Leaving> leaving_;  // as chosen
};

}  // namespace sluice::autoscaler
