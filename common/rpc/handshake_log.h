#pragma once

#include <functional>
#include <memory>
#include <string>

namespace sluice::rpc {

/// Hears of handshakes of this process that fail, which gRPC tells to its log and nowhere else: who
/// the peer is it does not say. What else gRPC has to say goes to the standard error as before.
class HandshakeLog {
 public:
  /// Called on gRPC's threads with the TLS library's reason.
  using Heard = std::function<void(const std::string& why)>;

  explicit HandshakeLog(Heard heard);
  ~HandshakeLog();
  HandshakeLog(const HandshakeLog&) = delete;
  HandshakeLog& operator=(const HandshakeLog&) = delete;

 private:
  std::shared_ptr<Heard> heard_;
};

}  // namespace sluice::rpc
