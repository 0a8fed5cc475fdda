#include "common/kube/server_tls.h"

#include <utility>

namespace sluice::kube {
namespace {

using Part = net::ClientTlsProblem::Part;

// In the words of a kubeconfig.
Problem named(const net::ClientTlsProblem& problem) {
  switch (problem.part) {
    case Part::machine:
      return {problem.what, "give the API server's CA as certificate-authority"};
    case Part::ca:
      return {"the certificate authority of the API server holds no certificates", problem.fix};
    case Part::own:
      return {"client-certificate and client-key: " + problem.what, problem.fix};
    case Part::library:
      break;
  }
  return Problem{problem.what, problem.fix};
}

}  // namespace

ServerTls::ServerTls(std::string server_name, std::unique_ptr<net::ClientTls> client)
    : server_name_{std::move(server_name)}, client_{std::move(client)} {}

ServerTls::~ServerTls() = default;

Result<std::unique_ptr<ServerTls>, Problem> ServerTls::make(const Access& access) {
  auto client = net::ClientTls::make(
      {.ca = access.ca,
       .own = {.certificate = access.client_certificate, .key = access.client_key}});
  if (!client) return named(client.error());
  return std::unique_ptr<ServerTls>{new ServerTls{access.server_name, *std::move(client)}};
}

std::unique_ptr<net::TlsSession> ServerTls::make_session(int descriptor) {
  return client_->make_session(descriptor, server_name_, "http/1.1");
}

}  // namespace sluice::kube
