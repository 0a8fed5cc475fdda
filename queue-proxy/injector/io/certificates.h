#pragma once

#include "common/base/result.h"
#include "common/net/tls_context.h"
#include "common/time/time_point.h"
#include "queue-proxy/injector/core/certificate_plan.h"

#include <string>
#include <vector>

namespace sluice::injector {

/// What the Secret holds, as PEM; empty: not there.
struct CertificateSet {
  std::string ca;
  std::string ca_key;
  std::string old_ca;
  std::string leaf;
  std::string leaf_key;

  /// What an API server has to trust.
  [[nodiscard]] std::string bundle() const { return ca + old_ca; }

  [[nodiscard]] net::TlsPair pair() const { return {.certificate = leaf, .key = leaf_key}; }

  friend bool operator==(const CertificateSet&, const CertificateSet&) = default;
};

/// What a set amounts to for whoever is called by `names`. Whatever cannot be read counts as
/// absent.
[[nodiscard]] CertificateState state_of(const CertificateSet& set,
                                        const std::vector<std::string>& names);

/// Takes one step: the set that comes next. Keys are of P-256. A problem: the library fails.
[[nodiscard]] Result<CertificateSet, Problem> take_step(const CertificateSet& set,
                                                        CertificateStep step,
                                                        const std::vector<std::string>& names,
                                                        TimePoint now);

}  // namespace sluice::injector
