#include "common/certificates/enrolment_text.h"

#include <algorithm>

namespace sluice::certificates {
namespace {

constexpr std::string_view kAuthorization = "Authorization";
constexpr std::string_view kBearer = "Bearer ";
constexpr std::string_view kKeyField = "Sluice-Public-Key";
constexpr std::string_view kKeyBegins = "-----BEGIN PUBLIC KEY-----";
constexpr std::string_view kKeyEnds = "-----END PUBLIC KEY-----";
constexpr std::size_t kKeyMax = 200;  // one of P-256 has 124 characters

bool is_base64(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/' || c == '=';
}

// What stands between the first and the last line of a PEM text, on one line.
std::string on_one_line(std::string_view pem) {
  std::string line;
  const std::size_t begin = pem.find(kKeyBegins);
  const std::size_t end = pem.find(kKeyEnds);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return line;
  const std::size_t from = begin + kKeyBegins.size();
  std::ranges::copy_if(pem.substr(from, end - from), std::back_inserter(line), is_base64);
  return line;
}

std::size_t count_of(const http::FieldList& fields, std::string_view name) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < fields.size(); ++at) {
    if (http::equals_ignoring_case(fields.at(at).name, name)) ++count;
  }
  return count;
}

}  // namespace

std::string enroll_request(const EnrollRequest& request, std::string_view host) {
  std::string head{"POST "};
  head.append(kEnrollPath).append(" HTTP/1.1\r\nHost: ").append(host).append("\r\n");
  head.append(kAuthorization).append(": ").append(kBearer).append(request.token).append("\r\n");
  head.append(kKeyField).append(": ").append(on_one_line(request.public_key)).append("\r\n");
  return head.append("Content-Length: 0\r\nConnection: close\r\n\r\n");
}

Result<EnrollRequest, EnrollMistake> read_enroll_request(const http::RequestHead& head) {
  if (head.target != kEnrollPath) return EnrollMistake{404, "the path is /v1/enroll"};
  if (head.method != "POST") return EnrollMistake{405, "send POST"};
  const bool has_body = head.framing == http::Framing::chunked ||
                        (head.framing == http::Framing::length && head.content_length != 0);
  if (has_body) return EnrollMistake{413, "the request must not have a body"};
  const std::string_view proof = head.fields.find(kAuthorization);
  if (count_of(head.fields, kAuthorization) != 1 || !proof.starts_with(kBearer) ||
      proof.size() == kBearer.size()) {
    return EnrollMistake{401, "send one Authorization: Bearer, the token of a service account"};
  }
  const std::string_view key = head.fields.find(kKeyField);
  if (count_of(head.fields, kKeyField) != 1 || key.empty() || key.size() > kKeyMax ||
      !std::ranges::all_of(key, is_base64)) {
    return EnrollMistake{400, "send one Sluice-Public-Key header: a P-256 key in PEM, on one line"};
  }
  EnrollRequest request{.token = std::string{proof.substr(kBearer.size())}, .public_key = {}};
  request.public_key.append(kKeyBegins).append("\n").append(key).append("\n");
  request.public_key.append(kKeyEnds).append("\n");
  return request;
}

}  // namespace sluice::certificates
