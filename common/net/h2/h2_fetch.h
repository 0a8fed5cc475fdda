#pragma once

#include "common/base/result.h"
#include "common/http/message.h"
#include "common/net/address.h"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::net {

struct H2FetchRequest {
  Address target;
  std::string method = "GET";
  std::string authority;
  std::string path = "/";
  /// Names in any case. Fields of a connection (Connection, Upgrade, ...) may not be among them.
  std::vector<std::pair<std::string, std::string>> fields;
  std::string body;
  std::chrono::milliseconds timeout{3000};
  std::size_t body_max = 64 * 1024;

  /// Done when the head has come. The body is still read, up to its limit and timeout, so that the
  /// peer can finish what it began; nothing is kept of it and nothing it does is a failure.
  bool head_only = false;
};

struct H2FetchResponse {
  int status = 0;
  http::FieldList fields;
  http::FieldList trailers;  ///< a response that is its own trailers (gRPC) has them in `fields`
  std::string body;
};

/// One HTTP/2 request with prior knowledge, in cleartext, on a connection of its own. Destroying it
/// cancels it. A peer that speaks no HTTP/2 is upstream_invalid or upstream_reset; more than 64 KiB
/// of header fields, or a body above its limit, is too_large.
class H2Fetch {
 public:
  using Done = std::function<void(const Result<H2FetchResponse>&)>;

  /// `done` is called once, later, unless the fetch is destroyed first; it may destroy the fetch.
  H2Fetch(boost::asio::io_context& io, H2FetchRequest request, Done done);
  ~H2Fetch();
  H2Fetch(const H2Fetch&) = delete;
  H2Fetch& operator=(const H2Fetch&) = delete;

 private:
  struct Run;
  std::shared_ptr<Run> run_;  // shared with the handlers of its outstanding operations only
};

}  // namespace sluice::net
