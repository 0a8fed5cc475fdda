#pragma once

#include "common/http/message.h"

#include <string>
#include <string_view>

namespace sluice::http {

/// How a request head is rewritten on its way to the next hop (queue-proxy.md 5, activator.md 7).
struct RequestRewrite {
  /// Text of the client's address, appended to X-Forwarded-For; empty for a Unix socket peer.
  std::string_view peer_ip;
  /// Host sent instead of the inbound one; empty keeps the inbound Host.
  std::string_view host;
  /// Sidecar: send K-Original-Host as Host and drop it. Off for kubelet probes (section 4, P1).
  bool restore_original_host = false;
  /// Sidecar: derive Forwarded from X-Forwarded-* when it is absent.
  bool derive_forwarded = false;
  /// Sidecar: drop K-Kubelet-Probe that came from another host (section 15.16).
  bool drop_kubelet_probe = false;
  /// Activator: set K-Proxy-Request and K-Original-Host, drop K-Network-Hash.
  bool as_activator = false;
  /// When not empty, the target sent instead of the inbound one.
  std::string_view target;
};

/// Appends the rewritten head, with its empty line, to `out`. The body that follows is framed as it
/// came: the same Content-Length, or chunked.
void write_request_head(std::string& out, const RequestHead& head, const RequestRewrite& rewrite);

/// How the body of a response is framed towards the client.
enum class ResponseBody : std::uint8_t {
  as_is,    ///< same length or chunking as the upstream's
  chunked,  ///< the upstream's ends with its connection; the client's gets chunks
  to_close, ///< the client speaks HTTP/1.0: content without chunks, ended by closing
};

struct ResponseRewrite {
  ResponseBody body = ResponseBody::as_is;
  bool keep_alive = true;    ///< what the client is told
  int client_minor = 1;      ///< the client's HTTP/1.x
  std::string_view extra;    ///< complete lines to add, each with CRLF
};

/// Appends the rewritten head of a response to `out`: hop-by-hop fields removed, framing as said.
void write_response_head(std::string& out, const ResponseHead& head,
                         const ResponseRewrite& rewrite);

/// The value of Forwarded derived from the first lines of the X-Forwarded-* fields, or empty when
/// none is present (queue-proxy.md 5, "Forwarded shim").
[[nodiscard]] std::string forwarded_from(std::string_view x_forwarded_for,
                                         std::string_view x_forwarded_host,
                                         std::string_view x_forwarded_proto);

}  // namespace sluice::http
