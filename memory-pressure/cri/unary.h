#pragma once

#include "common/rpc/ending.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace sluice::rpc {

struct UnaryOptions {
  std::string target;  ///< `host:port` or `unix:/path`
  /// Sent with every call: a name and its value.
  std::vector<std::pair<std::string, std::string>> metadata{};
  std::size_t receive_bytes_max = std::size_t{16} << 20U;  ///< a larger answer: RESOURCE_EXHAUSTED
  std::size_t calls_max = 1'000;  ///< under way at a time; more end with RESOURCE_EXHAUSTED
};

/// How a call ended, and the answer's bytes when it is `ok`.
struct UnaryReply {
  Ending ending;
  std::string bytes;
};

/// Calls of one request and one answer, as bytes, in clear text. Used on the thread of the
/// io_context only; gRPC's threads only post.
///
/// A server that cannot be reached ends a call with UNAVAILABLE at once; the next call dials again,
/// so the caller sets how long to wait between two. Must go before its io_context does.
class UnaryClient {
 public:
  /// Runs on the io thread, never from within a method of UnaryClient, exactly once per call. May
  /// destroy the client.
  using Done = std::function<void(UnaryReply)>;

  UnaryClient(boost::asio::io_context& io, UnaryOptions options);

  /// Cancels every call and waits for gRPC's threads to leave: a fraction of a second. No `done`
  /// runs after that.
  ~UnaryClient();
  UnaryClient(const UnaryClient&) = delete;
  UnaryClient& operator=(const UnaryClient&) = delete;

  /// Calls `method`, `/package.Service/Method`. Without an answer after `limit` it ends with
  /// DEADLINE_EXCEEDED, and whether the server has acted is not known.
  void call(const std::string& method, const std::string& request, Duration limit, Done done);

  [[nodiscard]] const std::string& target() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace sluice::rpc
