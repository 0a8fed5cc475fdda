#pragma once

#include "common/http/header_block.h"
#include "common/http/message.h"

#include <span>
#include <string>
#include <string_view>

namespace sluice::http {

/// How K-Original-Host is handled, the Host that Knative's ingress and activators save before they
/// address a pod. From others it would be a second Host, which played no part in routing.
enum class OriginalHost : std::uint8_t {
  kept,      ///< forwarded like any field
  restored,  ///< forwarded as the Host, not as a field
  dropped,
};

/// How a request head is rewritten on its way to the next hop (queue-proxy.md 5, activator.md 7).
struct RequestRewrite {
  /// Text of the client's address, appended to X-Forwarded-For; empty for a Unix socket peer.
  std::string_view peer_ip;
  /// Where clients enter: sent as X-Forwarded-Proto when the request has none. Empty: not sent.
  std::string_view proto;
  /// Host sent instead of the inbound one; empty keeps the inbound Host.
  std::string_view host;
  /// Host sent when neither `host` nor the client gives one: where it goes (HTTP/1.0 has no need of
  /// a Host). Empty: none.
  std::string_view address;
  OriginalHost original_host = OriginalHost::kept;
  /// Sidecar: derive Forwarded from X-Forwarded-* when it is absent.
  bool derive_forwarded = false;
  /// Sidecar: drop K-Kubelet-Probe that came from another host (section 15.16).
  bool drop_kubelet_probe = false;
  /// Activator: set K-Proxy-Request, drop K-Network-Hash and Sluice-Edit (the token is the
  /// program's, whatever host it was sent to by mistake), and set K-Original-Host to the inbound
  /// Host unless one is kept.
  bool as_activator = false;
  /// Activator whose pods are addressed through a mesh: set K-Passthrough-Lb (activator.md 7).
  bool passthrough_lb = false;
  /// When not empty, the target sent instead of the inbound one.
  std::string_view target;
  /// When not empty, of the client's fields these alone are forwarded, and `more` instead of the
  /// others: for a hop with credentials that are ours and not the client's.
  std::span<const std::string_view> only = {};
  std::string_view more;  ///< with `only`: complete lines, each with CRLF
};

/// The protocol to which an HTTP/1.1 request asks to switch; empty when it asks for none. `h2c`
/// never counts: it is for the connection and not for the service (queue-proxy.md 9).
[[nodiscard]] std::string_view asked_protocol(const RequestHead& head);

/// Whether a 101 switches to what was requested, or to one protocol of the requested list. Case is
/// ignored.
[[nodiscard]] bool switches_as_asked(const ResponseHead& head, std::string_view asked);

/// Appends the rewritten head, with its empty line, to `out`. The body that follows is framed as it
/// came: the same Content-Length, or chunked. A requested protocol is requested again.
void write_request_head(std::string& out, const RequestHead& head, const RequestRewrite& rewrite);

/// How the body of a response is framed towards the client.
enum class ResponseBody : std::uint8_t {
  as_is,     ///< same length or chunking as the upstream's
  chunked,   ///< the upstream's ends with its connection; the client's gets chunks
  to_close,  ///< the client speaks HTTP/1.0: content without chunks, ended by closing
};

struct ResponseRewrite {
  ResponseBody body = ResponseBody::as_is;
  bool keep_alive = true;  ///< what the client is sent
  int client_minor = 1;    ///< the client's HTTP/1.x
  std::string_view extra;  ///< complete lines to add, each with CRLF
};

/// Appends the rewritten head of a response to `out`: hop-by-hop fields removed, framing as said. A
/// 101 names its protocol.
void write_response_head(std::string& out, const ResponseHead& head,
                         const ResponseRewrite& rewrite);

/// The same two for HTTP/2: pseudo-header fields, then what the rules above leave (RFC 9113, 8.2).
/// `extra`: complete lines, each with CRLF.
void write_request_block(HeaderBlock& out, const RequestHead& head, const RequestRewrite& rewrite);
void write_response_block(HeaderBlock& out, const ResponseHead& head, std::string_view extra);

/// Adds complete header lines, each with CRLF, as fields.
void add_lines(HeaderBlock& out, std::string_view lines);

}  // namespace sluice::http
