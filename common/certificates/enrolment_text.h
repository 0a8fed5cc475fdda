#pragma once

#include "common/base/result.h"
#include "common/http/message.h"

#include <cstddef>
#include <string>
#include <string_view>

// How a program asks for a certificate by the token of its service account: one POST without a
// body, the token in Authorization and the key in a field of ours; the answer is the certificate.
// All of a request is in its head, so that what a stranger can make the server keep is bounded by
// the limits of a head.
namespace sluice::certificates {

/// The audience of such a token.
inline constexpr const char* kEnrollAudience = "sluice-autoscaler";

inline constexpr std::string_view kEnrollPath = "/v1/enroll";

/// Content-Type of a certificate.
inline constexpr const char* kEnrollAnswerType = "application/pem-certificate-chain";

/// Largest head of a request: a token is a kilobyte or two.
inline constexpr std::size_t kEnrollHeadMax = std::size_t{8} << 10U;

/// Largest answer.
inline constexpr std::size_t kEnrollAnswerMax = std::size_t{16} << 10U;

/// The token of the caller, and its key. The request names no node: the token decides which it
/// is.
struct EnrollRequest {
  std::string token;
  std::string public_key;  ///< PEM, of P-256; its other half never leaves the asker
};

/// The request as it is sent to `host`.
[[nodiscard]] std::string enroll_request(const EnrollRequest& request, std::string_view host);

/// Why a request is none of these.
struct EnrollMistake {
  int status = 400;
  std::string why;  ///< for people
};

[[nodiscard]] Result<EnrollRequest, EnrollMistake> read_enroll_request(
    const http::RequestHead& head);

}  // namespace sluice::certificates
