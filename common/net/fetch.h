#pragma once

#include "common/net/byte_buffer.h"
#include "common/net/h1/h1_codec.h"
#include "common/net/socket.h"
#include "common/net/tls/tls.h"

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace sluice::net {

struct FetchRequest {
  Address target;
  std::string head;  ///< complete request head with its empty line
  std::chrono::milliseconds timeout{3000};
  std::size_t body_max = 64 * 1024;

  /// Done when the head has come. The body is still read, up to its limit and timeout, so that the
  /// peer can finish what it began; nothing is kept of it and nothing it does is a failure.
  bool head_only = false;

  /// Client sessions to speak TLS through; null for cleartext. Outlives the fetch.
  TlsSessions* tls = nullptr;
};

struct FetchResponse {
  http::ResponseHead head;
  std::string body;
};

/// One request on a connection of its own: probes and scrapes. Destroying it cancels it.
class Fetch {
 public:
  using Done = std::function<void(const Result<FetchResponse>&)>;

  /// `done` is called once, later, unless the fetch is destroyed first; it may destroy the fetch.
  Fetch(boost::asio::io_context& io, FetchRequest request, Done done);
  ~Fetch();
  Fetch(const Fetch&) = delete;
  Fetch& operator=(const Fetch&) = delete;

 private:
  struct Run;
  std::shared_ptr<Run> run_;  // shared with the handlers of its outstanding operations only
};

}  // namespace sluice::net
