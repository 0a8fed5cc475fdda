#include "common/rpc/credentials.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <optional>
#include <string_view>

namespace sluice::rpc {
namespace {

namespace tls = grpc::experimental;

constexpr unsigned kReloadSeconds = 2;

struct Files {
  std::string certificate;
  std::string key;
  std::string authority;
};

bool is_pem(const std::string& path) {
  std::ifstream file{path};
  std::string line;
  bool pem = false;
  while (!pem && std::getline(file, line)) pem = line.starts_with("-----BEGIN ");
  return pem;
}

Result<Files, Problem> files_of(const std::string& tls_dir) {
  Files files{tls_dir + "/tls.crt", tls_dir + "/tls.key", tls_dir + "/ca.crt"};
  for (const std::string& path : {files.certificate, files.key, files.authority}) {
    if (!is_pem(path)) {
      return Problem{path + " cannot be read as PEM",
                     "SLUICE_TLS_DIR names a directory with tls.crt, tls.key and ca.crt"};
    }
  }
  return files;
}

// gRPC 1.51 sets TLS 1.2 as its least version and has no switch for another. Its list of ciphers,
// which governs 1.2 only, comes from the environment; the one named here needs a pre-shared key,
// which no peer has, so that no handshake below 1.3 finds a cipher.
void demand_tls_1_3() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): before gRPC's first use of TLS, hence of its threads
  setenv("GRPC_SSL_CIPHER_SUITES", "PSK-AES256-GCM-SHA384", 1);
}

std::shared_ptr<tls::CertificateProviderInterface> provider(const Files& files) {
  return std::make_shared<tls::FileWatcherCertificateProvider>(files.key, files.certificate,
                                                               files.authority, kReloadSeconds);
}

}  // namespace

Result<std::shared_ptr<grpc::ServerCredentials>, Problem> server_credentials(
    const std::string& tls_dir) {
  if (tls_dir.empty()) return grpc::InsecureServerCredentials();
  const auto files = files_of(tls_dir);
  if (!files) return files.error();
  demand_tls_1_3();
  tls::TlsServerCredentialsOptions options{provider(*files)};
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  // In the handshake: what HTTP/2 a stranger would speak is never read.
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return tls::TlsServerCredentials(options);
}

Result<std::shared_ptr<grpc::ChannelCredentials>, Problem> client_credentials(
    const std::string& tls_dir) {
  if (tls_dir.empty()) return grpc::InsecureChannelCredentials();
  const auto files = files_of(tls_dir);
  if (!files) return files.error();
  demand_tls_1_3();
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(provider(*files));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  return tls::TlsCredentials(options);
}

}  // namespace sluice::rpc
