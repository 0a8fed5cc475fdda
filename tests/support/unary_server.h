#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice::testing {

/// What a call is answered with; `code` as gRPC numbers them.
struct UnaryAnswer {
  int code = 0;
  std::string text;
  std::string bytes;
  bool never = false;  ///< none, but what send() gives, until the client gives up
};

/// A gRPC server of unary calls as bytes, with gRPC's own threads. Like those that are made by its
/// rules it answers a call when the client's one message is there and no other can follow.
class UnaryServer {
 public:
  /// `answer` is asked on a thread of gRPC's, one call at a time.
  using Answer = std::function<UnaryAnswer(const std::string& method, const std::string& request)>;

  /// `address`: `unix:/path` or `127.0.0.1:0`.
  UnaryServer(const std::string& address, Answer answer);
  ~UnaryServer();
  UnaryServer(const UnaryServer&) = delete;
  UnaryServer& operator=(const UnaryServer&) = delete;

  /// Sends a message to each call of this method that is never answered.
  void send(const std::string& method, const std::string& bytes);

  /// Where it is reached.
  [[nodiscard]] const std::string& target() const { return target_; }

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
  std::string target_;
};

}  // namespace sluice::testing
