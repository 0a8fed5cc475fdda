#pragma once

#include "common/time/time_point.h"

#include <chrono>
#include <cstdint>
#include <optional>

namespace sluice::certificates {

/// From when to when a certificate is good.
struct Span {
  TimePoint from{};
  TimePoint until{};

  friend bool operator==(const Span&, const Span&) = default;
};

/// What the replicas of a program share: a CA, the one before it while it is still trusted, and a
/// certificate for their own name that one of them has signed.
struct State {
  std::optional<Span> ca;    ///< absent: none, or not ours to sign with
  std::optional<Span> leaf;  ///< absent: none, or not for the names we are called by
  bool old_ca = false;       ///< the one before is still trusted
  bool leaf_by_ca = false;   ///< the leaf is signed by `ca`
  bool leaf_by_old_ca = false;
};

enum class Step : std::uint8_t {
  none,
  make_all,     ///< a CA and a leaf by it; nothing of what was there is of use
  renew_leaf,   ///< a leaf by the CA
  renew_ca,     ///< a CA; the one before stays trusted and its leaf in service
  drop_old_ca,  ///< no leaf by the one before is served any more
};

inline constexpr Duration kCaLife = std::chrono::hours{24 * 365};
inline constexpr Duration kLeafLife = std::chrono::hours{24 * 90};

/// Counted from the beginning of their spans, which lies five minutes before they were made, for
/// clocks that differ. A new CA signs nothing before every API server has had the time to take up
/// the bundle with it.
inline constexpr Duration kCaSpreads = std::chrono::minutes{15};
/// An old CA is trusted until every replica has had the time to take up a leaf by the new one:
/// unless a program sets another.
inline constexpr Duration kLeafSpreads = std::chrono::hours{1};

/// The next step, one at a time; `none`: all is well until later. Certificates are renewed when two
/// thirds of their life are over, so that a third is left to get it done.
[[nodiscard]] Step next_step(const State& state, TimePoint now,
                             Duration leaf_spreads = kLeafSpreads);

/// What of `due` may be taken while clients are without the present bundle: the old
/// CA stays, and so does its leaf as long as that is good, for they would trust no other.
[[nodiscard]] Step step_before_bundle(Step due, const State& state, TimePoint now);

}  // namespace sluice::certificates
