#include "common/rpc/admission.h"

namespace sluice::rpc {
namespace {

using certificates::Role;

std::optional<Role> role_of(Caller wanted) {
  switch (wanted) {
    case Caller::certified:
      return std::nullopt;
    case Caller::activator:
      return Role::activator;
    case Caller::node_agent:
      return Role::node_agent;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::plain_text:
      return "plain_text";
    case Refusal::unexpected_tls:
      return "tls";
    case Refusal::handshake:
      return "handshake";
    case Refusal::wrong_role:
      return "wrong_role";
  }
  return "";
}

std::optional<Refused> judge(Caller wanted, const Peer& peer, bool plain_call) {
  if (!peer.tls) {
    if (plain_call) return std::nullopt;
    return Refused{Refusal::plain_text,
                   {Code::unauthenticated,
                    "this method is not served in plain text: set SLUICE_TLS_DIR on the caller"}};
  }
  const auto role = role_of(wanted);
  if (!role || peer.identity.has(*role)) return std::nullopt;
  const std::string node = *role == Role::node_agent ? "NODE" : "";
  return Refused{
      Refusal::wrong_role,
      {Code::permission_denied, "the caller's certificate is that of " + peer.identity.shown() +
                                    " and needs the URI " + certificates::uri_of(*role, node) +
                                    ": see tls.crt in its SLUICE_TLS_DIR"}};
}

}  // namespace sluice::rpc
