#pragma once

#include "common/time/time_point.h"

#include <chrono>
#include <cstdint>
#include <optional>

namespace sluice::injector {

/// From when to when a certificate is good.
struct CertificateSpan {
  TimePoint from{};
  TimePoint until{};

  friend bool operator==(const CertificateSpan&, const CertificateSpan&) = default;
};

/// What the replicas share: a CA, the one before it while it is still trusted, and the serving
/// certificate that one of them has signed.
struct CertificateState {
  std::optional<CertificateSpan> ca;    ///< absent: none, or not ours to sign with
  std::optional<CertificateSpan> leaf;  ///< absent: none, or not for the names we are called by
  bool old_ca = false;                  ///< the one before is still trusted
  bool leaf_by_ca = false;              ///< the leaf is signed by `ca`
  bool leaf_by_old_ca = false;
};

enum class CertificateStep : std::uint8_t {
  none,
  make_all,     ///< a CA and a leaf by it; nothing of what was there is of use
  renew_leaf,   ///< a leaf by the CA
  renew_ca,     ///< a CA; the one before stays trusted and its leaf in service
  drop_old_ca,  ///< nobody serves a leaf by the one before any more
};

inline constexpr Duration kCaLife = std::chrono::hours{24 * 365};
inline constexpr Duration kLeafLife = std::chrono::hours{24 * 90};

/// Counted from the beginning of their spans, which lies five minutes before they were made, for
/// clocks that differ. A new CA signs nothing before every API server has had the time to take up
/// the bundle with it.
inline constexpr Duration kCaSpreads = std::chrono::minutes{15};
/// An old CA is trusted until every replica has had the time to take up a leaf by the new one.
inline constexpr Duration kLeafSpreads = std::chrono::hours{1};

/// The next step, one at a time; `none`: all is well until later. Certificates are renewed when two
/// thirds of their life are over, so that a third is left to get it done.
[[nodiscard]] CertificateStep next_step(const CertificateState& state, TimePoint now);

}  // namespace sluice::injector
