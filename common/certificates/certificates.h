#pragma once

#include "common/base/result.h"
#include "common/certificates/plan.h"
#include "common/net/tls/tls_context.h"
#include "common/time/time_point.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::certificates {

/// What the Secret holds, as PEM; empty: not there.
struct Set {
  std::string ca;
  std::string ca_key;
  std::string old_ca;
  std::string leaf;
  std::string leaf_key;

  /// What peers have to trust.
  [[nodiscard]] std::string bundle() const { return ca + old_ca; }

  [[nodiscard]] net::TlsPair pair() const { return {.certificate = leaf, .key = leaf_key}; }

  friend bool operator==(const Set&, const Set&) = default;
};

/// The subject of a certificate, and its permitted uses.
struct LeafSpec {
  std::string common_name;          ///< of the subject; a CA is called by it, too
  std::vector<std::string> dns{};   ///< names
  std::vector<std::string> uris{};  ///< identities, as certificates::uri_of
  bool server = true;               ///< it may prove a server
  bool client = false;              ///< and a client
};

/// What a set amounts to for `spec`. Whatever cannot be read counts as absent.
[[nodiscard]] State state_of(const Set& set, const LeafSpec& spec);

/// Takes one step: the set that comes next. Keys are of P-256. A problem: the library fails.
[[nodiscard]] Result<Set, Problem> take_step(const Set& set, Step step, const LeafSpec& spec,
                                             TimePoint now);

/// A key that its owner keeps, and the half of it that is signed; both PEM.
struct KeyPair {
  std::string key;
  std::string public_key;
};

/// A new key of P-256. A problem: the library fails.
[[nodiscard]] Result<KeyPair, Problem> make_key();

/// A certificate without its key, which its owner keeps.
struct Signed {
  std::string certificate;  ///< PEM
};

/// A certificate by the CA of `set` for another program's public key, of P-256. A problem names
/// what is wrong with the key, or that there is no CA to sign with.
[[nodiscard]] Result<Signed, Problem> sign(const Set& set, const std::string& public_key,
                                           const LeafSpec& spec, Duration life, TimePoint now);

/// From when to when the first certificate of a PEM text is good; absent: there is none.
[[nodiscard]] std::optional<Span> span_of(const std::string& pem);

/// Whether one of the CAs in `bundle` has signed the first certificate of `pem`. What cannot be
/// read has signed nothing, and is signed by none.
[[nodiscard]] bool is_signed_by_one_of(const std::string& pem, const std::string& bundle);

}  // namespace sluice::certificates
