#pragma once

#include "common/base/error.h"
#include "common/http/header_block.h"

#include <optional>
#include <string>
#include <string_view>

namespace sluice::http {

/// Field that a sidecar adds to a response of the container that carries Sluice-Error already: an
/// application that passes on what another service answered it has refused nothing itself.
inline constexpr std::string_view kSluiceErrorFrom = "Sluice-Error-From";

/// A response that Sluice itself makes (protocols.md 7).
struct OwnResponse {
  int status = 200;
  std::string content_type;  ///< empty: no Content-Type
  std::string body;
  std::string sluice_error;    ///< value of Sluice-Error; empty for answers that are no errors
  int retry_after_s = 0;       ///< Retry-After; 0 for none
  std::string extra;           ///< complete header lines, each with CRLF
  bool close = false;          ///< the connection ends after it
  std::optional<Error> error;  ///< what went wrong; nothing for answers that are no errors
};

/// The one place where an error becomes HTTP. `detail`, when given, replaces the body's text (a 502
/// quotes what the connection said) and `facts` is appended to Sluice-Error, as in
/// "timeout; timer=response-start; limit=5s".
[[nodiscard]] OwnResponse response_for(Error error, std::string_view detail = {},
                                       std::string_view facts = {});

/// A plain answer without error, text/plain when it has a body.
[[nodiscard]] OwnResponse plain_response(int status, std::string body);

/// The same as problem+json, for clients whose Accept names it.
[[nodiscard]] OwnResponse as_problem_json(OwnResponse response);

/// Appends status line, fields and body. `to_head`: without the body.
void write_own_response(std::string& out, const OwnResponse& response, bool to_head,
                        bool keep_alive);

/// The same as the header block of HTTP/2; the body follows as data.
void write_own_block(HeaderBlock& out, const OwnResponse& response);

/// An error as a gRPC client expects it: the whole response in one block with status 200 and the
/// status in gRPC's words (Trailers-Only), no body. Only for responses with an error.
void write_grpc_block(HeaderBlock& out, const OwnResponse& response);

/// The gRPC status code for `error` (UNAVAILABLE, DEADLINE_EXCEEDED, ...).
[[nodiscard]] int grpc_status_of(Error error);

/// Standard reason phrase of a status; empty for unknown ones.
[[nodiscard]] std::string_view reason_of(int status);

}  // namespace sluice::http
