#pragma once

#include "common/base/result.h"

#include <memory>
#include <string>

namespace grpc {
class ChannelCredentials;
class ServerCredentials;
}  // namespace grpc

namespace sluice::rpc {

/// Plaintext when `tls_dir` is empty; otherwise mutual TLS 1.3 with the directory's tls.crt,
/// tls.key and ca.crt, which are read again within seconds of a change. The problem names the file
/// that cannot be read.
[[nodiscard]] Result<std::shared_ptr<grpc::ServerCredentials>, Problem> server_credentials(
    const std::string& tls_dir);
[[nodiscard]] Result<std::shared_ptr<grpc::ChannelCredentials>, Problem> client_credentials(
    const std::string& tls_dir);

}  // namespace sluice::rpc
