#include "common/net/tls/tls_trust.h"

#include "common/base/check.h"
#include "common/net/tls/pem.h"

#include <utility>

namespace sluice::net {
TlsTrust::TlsTrust() : socket_method_{make_socket_method()} {
  CHECK(socket_method_ != nullptr);
  replace({});
}

TlsTrust::~TlsTrust() = default;

std::vector<Problem> TlsTrust::replace(std::span<const std::string> bundles) {
  SslContext next{SSL_CTX_new(TLS_client_method())};
  CHECK(next != nullptr);
  use_stream_habits(next.get());
  SSL_CTX_set_min_proto_version(next.get(), TLS1_3_VERSION);
  SSL_CTX_set_verify(next.get(), SSL_VERIFY_PEER, nullptr);
  std::vector<Problem> problems;
  size_ = 0;
  for (std::size_t i = 0; i < bundles.size(); ++i) {
    const auto certificates = certificates_in(bundles[i]);
    if (certificates.empty()) {
      problems.push_back({"trust bundle " + std::to_string(i + 1) + " holds no certificates",
                          "give certificates in PEM, and nothing else"});
    }
    trust(next.get(), certificates);
    size_ += certificates.size();
  }
  context_ = std::move(next);
  return problems;
}

VerifyingTlsClient::VerifyingTlsClient(const TlsTrust& trust, std::string server_name,
                                       std::string also_named, std::string protocol)
    : trust_{trust},
      server_name_{std::move(server_name)},
      also_named_{std::move(also_named)},
      protocol_{std::move(protocol)} {}

std::unique_ptr<TlsSession> VerifyingTlsClient::make_session(int descriptor) {
  return make_tls_session(trust_.context_.get(), trust_.socket_method_.get(), descriptor,
                          {server_name_, server_name_, also_named_, protocol_});
}

}  // namespace sluice::net
