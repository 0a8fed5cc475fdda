#pragma once

#include "common/net/address.h"
#include "common/net/tls/tls_context.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

struct evp_pkey_st;
struct x509_st;
struct ssl_st;
struct ssl_ctx_st;

namespace sluice::net::testing {

/// A fresh self-signed pair whose subject is `name`.
[[nodiscard]] TlsPair make_pair_for(const std::string& name);

/// A certificate authority of a test.
class TlsAuthority {
 public:
  explicit TlsAuthority(const std::string& name);
  ~TlsAuthority();
  TlsAuthority(const TlsAuthority&) = delete;
  TlsAuthority& operator=(const TlsAuthority&) = delete;

  /// Its own certificate in PEM.
  [[nodiscard]] const std::string& pem() const { return pem_; }

  /// A fresh pair that lists these DNS names, as "DNS:a,DNS:b".
  [[nodiscard]] TlsPair issue(const std::string& names) const;

 private:
  x509_st* certificate_;
  evp_pkey_st* key_;
  std::string pem_;
};

/// How a client shakes hands.
struct TlsOffer {
  std::string protocols{};  ///< ALPN as on the wire, "\x02h2"
  TlsVersion max = TlsVersion::v1_3;
  std::string suites_1_2{};
  std::string groups{};
};

/// A TLS client over a connected socket that does not block, driven step by step.
class TlsClient {
 public:
  /// Takes the socket over.
  explicit TlsClient(int descriptor, const TlsOffer& offer = {});
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  /// Continues the handshake; true once it is done.
  bool shake();

  /// Returns how much was taken.
  std::size_t send(std::string_view bytes);

  /// Reads what is there, at most `limit` bytes.
  void take(std::size_t limit = std::string::npos);

  /// Announces inside the session that nothing more will be sent; reading continues.
  void finish_sending();

  /// The same said to the kernel only.
  void shut_socket_down();

  /// New keys for both directions with the next write.
  void renew_keys();

  [[nodiscard]] const std::string& seen() const { return seen_; }

  [[nodiscard]] bool failed() const { return failed_; }

  /// The server said inside the session that nothing follows.
  [[nodiscard]] bool ended() const { return ended_; }

  /// The connection is over, whether announced or cut.
  [[nodiscard]] bool over() const { return failed_ || ended_; }

  [[nodiscard]] std::string protocol() const;
  [[nodiscard]] std::string version() const;
  [[nodiscard]] std::string suite() const;

  /// Common name of the server's certificate.
  [[nodiscard]] std::string subject() const;

 private:
  struct Release {
    void operator()(ssl_st* ssl) const;
    void operator()(ssl_ctx_st* context) const;
  };

  bool went_on(int result);

  int fd_;
  std::unique_ptr<ssl_ctx_st, Release> context_;
  std::unique_ptr<ssl_st, Release> ssl_;
  std::string seen_;
  bool failed_ = false;
  bool ended_ = false;
};

/// A socket connected to a loopback address; does not block.
[[nodiscard]] int connected_to(const Address& address);

}  // namespace sluice::net::testing
