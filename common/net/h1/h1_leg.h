#pragma once

#include "common/base/lifetime.h"
#include "common/net/upstream/upstream_pool.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::net {

class H2UpstreamUser;

/// Carries one request whose body is complete to an upstream over HTTP/1.1: a probe, or the request
/// of a client that speaks HTTP/2 by now, stream 1 of an h2c upgrade (queue-proxy.md 9). Makes the
/// calls to its user that an HTTP/2 upstream would make.
class H1Leg final : private UpstreamUser {
 public:
  /// Fresh: a request that cannot be repeated meets no stale connection. Pooled: an idle one will
  /// do; when it ends unanswered a fresh one is tried.
  enum class Connection : std::uint8_t { fresh, pooled };

  /// `request`: complete head and body. `user` outlives the leg, and gets no call during this one.
  H1Leg(UpstreamPool& pool, H2UpstreamUser& user, std::string request, bool to_head,
        Connection wanted);
  ~H1Leg();
  H1Leg(const H1Leg&) = delete;
  H1Leg& operator=(const H1Leg&) = delete;

  /// Whether the request is on a connection.
  [[nodiscard]] bool connected() const { return upstream_ != nullptr; }

  /// Content was passed to the client: as much again may be read.
  void consumed(std::size_t bytes);

 private:
  void connect(Connection wanted);
  void attach(Upstream& upstream);
  void write();
  void on_upstream_read(bool ended) override;
  void pump();
  void lost(Error error, std::string text);
  void done(bool reusable);

  UpstreamPool& pool_;
  H2UpstreamUser& user_;
  std::string request_;
  std::string decoded_;
  std::size_t written_ = 0;
  std::size_t unconsumed_ = 0;    // content that the client has not taken yet
  Upstream* upstream_ = nullptr;  // lent by pool_
  std::uint64_t attempt_ = 0;
  bool to_head_;
  bool head_done_ = false;
  Lifetime alive_;
};

}  // namespace sluice::net
