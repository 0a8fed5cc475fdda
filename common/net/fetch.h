#pragma once

#include "common/http/message.h"
#include "common/net/lookup.h"
#include "common/net/tls/tls.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace sluice::net {

struct FetchRequest {
  Address target{};
  std::string text{};  ///< the request as it is sent: head, empty line, body
  std::chrono::milliseconds timeout{3000};
  std::size_t body_max = 64 * 1024;

  /// Done when the head has come. The body is still read, up to its limit and timeout, so that the
  /// peer can finish what it began; nothing is kept of it and nothing it does is a failure.
  bool head_only = false;

  std::shared_ptr<TlsSessions> tls = nullptr;  ///< null: cleartext
  Lookup lookup = nullptr;                     ///< for a target that is named
};

struct FetchResponse {
  http::ResponseHead head;
  std::string body;
};

struct FetchFailure {
  Error error = Error::io_failed;
  std::string why;  ///< for people
};

using FetchResult = Result<FetchResponse, FetchFailure>;

/// One request on a connection of its own: probes and scrapes. Destroying it cancels it.
class Fetch {
 public:
  using Done = std::function<void(const FetchResult&)>;

  /// `done` is called once, later, unless the fetch is destroyed first; it may destroy the fetch.
  Fetch(boost::asio::io_context& io, FetchRequest request, Done done);
  ~Fetch();
  Fetch(const Fetch&) = delete;
  Fetch& operator=(const Fetch&) = delete;

 private:
  struct Run;
  std::shared_ptr<Run> run_;  // shared with the handlers of its outstanding operations only
};

/// The same for a program that has nothing else to do: waits until it is done.
[[nodiscard]] FetchResult fetch_now(FetchRequest request);

}  // namespace sluice::net
