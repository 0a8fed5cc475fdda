#pragma once

#include "common/certificates/identity.h"
#include "common/rpc/ending.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::rpc {

/// Who may call a method of a server with mutual TLS.
enum class Caller : std::uint8_t {
  certified,  ///< any that shows a certificate of the authority
  activator,
  node_agent,
};

/// Who called, as far as the connection proves it.
struct Peer {
  std::string address;  ///< as gRPC writes it: `ipv4:127.0.0.1:40123`
  bool tls = false;     ///< with a certificate of the authority
  certificates::Identity identity{};
};

/// What a server turns away, by the first reason that applies.
enum class Refusal : std::uint8_t {
  plain_text,      ///< a connection without TLS at a port with TLS
  unexpected_tls,  ///< a connection with TLS at a plain-text port
  handshake,       ///< of TLS: it failed, for the most part over a certificate
  wrong_role,
};

/// The label of a refusal: `plain_text`, `tls`, `handshake`, `wrong_role`.
[[nodiscard]] std::string_view name_of(Refusal refusal);

/// Why the peer may not make this call; absent: it may. `plain_call`: the method is served to plain
/// connections that were let in.
struct Refused {
  Refusal why = Refusal::plain_text;
  Ending ending;
};

[[nodiscard]] std::optional<Refused> judge(Caller wanted, const Peer& peer, bool plain_call);

}  // namespace sluice::rpc
