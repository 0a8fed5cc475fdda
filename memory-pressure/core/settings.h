#pragma once

#include "common/base/result.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::node_agent {

enum class PolicyKind : std::uint8_t { foresight, headroom, off };

/// How a batch container is held: by the freezer, which lets nothing through, or by a quota.
enum class HoldBy : std::uint8_t { freezer, quota };

/// Who is throttled first within a class: the youngest, the smallest, or the one that can grow
/// most.
enum class Order : std::uint8_t { age, usage, growth };

/// Settings of a policy (memory-pressure.md 11.2 and the numbers of 5). Shares are of the
/// node's capacity, sizes bytes.
struct PolicySettings {
  PolicyKind policy = PolicyKind::foresight;
  double upper = 0.90;     ///< U: act above it, strictly
  double lower = 0.84;     ///< L: pressure is over below it, strictly
  std::uint32_t step = 1;  ///< R: containers per step that usage calls for
  Duration escalate_after = std::chrono::seconds{5};     ///< T
  Duration sample = std::chrono::milliseconds{250};      ///< P, below L
  Duration fast_sample = std::chrono::milliseconds{50};  ///< P, above L or with anything throttled
  std::int64_t quota_millicores = 25;                    ///< q
  double overcommit_factor = 0.6;                  ///< a: share of possible growth to be ready for
  std::int64_t reserve = std::int64_t{200} << 20;  ///< kept free beside the safety test
  Order order = Order::age;
  HoldBy hold = HoldBy::freezer;
  Duration sight = std::chrono::milliseconds{10};  ///< a birth is seen within; 0: by samples only
  double confidence = 2.5;       ///< z: deviations of the expected use that are kept free
  double stranger_growth = 0.8;  ///< a: share of its limit that one of unknown kin will reach
  Duration kin_known_after = std::chrono::seconds{20};  ///< K: of watching all of them together
  double brake = 1;   ///< r: how often the growth of one reaction must be free, or runners are held
  bool gate = true;   ///< false: starts are never refused
  bool pause = true;  ///< false: no container is throttled or stopped

  /// Over which growth is foreseen (5.3).
  Duration horizon = std::chrono::seconds{3};
  /// A container that was watched this long is assumed to continue as before; before that it may
  /// grow to its limit. One oscillation of the slowest workload.
  Duration known_after = std::chrono::seconds{60};
  /// What a throttled container faults in per second and millicore: measured, section 3.
  std::int64_t growth_per_millicore = std::int64_t{2} << 20;
  Duration grace = std::chrono::seconds{5};             ///< a younger container is left alone (5.2)
  Duration pause_min = std::chrono::milliseconds{500};  ///< hysteresis (5.4)
  Duration run_min = std::chrono::seconds{1};           ///< hysteresis (5.4)
  Duration pause_max = std::chrono::seconds{60};        ///< then another container's turn
  double release_margin = 0.05;                         ///< under the trigger (5.4)
  /// Usage above which what *could* grow is a reason to throttle; below it only the gate heeds it.
  /// Close to the edge: a paused container keeps its memory, and early pauses end in a queue
  /// (DECISIONS).
  double concern = 0.95;
  double critical = 0.97;  ///< the emergency path (5.5)
  double margin = 0.01;    ///< beside the growth of one reaction (5.1)
  Duration update_latency = std::chrono::milliseconds{25};  ///< p99 of one update (section 3)
  Duration deadlock_after = std::chrono::seconds{1};        ///< unsafe with one runner left (5.3)
  Duration sacrifice_grace = std::chrono::seconds{2};       ///< between SIGTERM and SIGKILL
};

/// The smallest quota that can be configured: the kernel takes no less than 1000 us per period, of
/// which the longest is 1 s.
inline constexpr std::int64_t kQuotaMillicoresMin = 1;
inline constexpr std::int64_t kQuotaMillicoresMax = 1000;

/// The first setting that cannot be, with the values that contradict each other (rows 3 and 4 of
/// memory-pressure.md 9); absent: all is well.
[[nodiscard]] std::optional<Problem> check(const PolicySettings& settings);

[[nodiscard]] std::optional<PolicyKind> policy_named(std::string_view name);
[[nodiscard]] std::optional<HoldBy> hold_named(std::string_view name);
[[nodiscard]] std::optional<Order> order_named(std::string_view name);
[[nodiscard]] std::string_view name(PolicyKind kind);
[[nodiscard]] std::string_view name(HoldBy hold);
[[nodiscard]] std::string_view name(Order order);

}  // namespace sluice::node_agent
