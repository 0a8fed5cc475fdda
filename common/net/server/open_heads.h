#pragma once

#include "common/http/own_response.h"
#include "common/net/server/connection.h"
#include "common/time/time_point.h"

#include <cstddef>

namespace sluice::net {

/// The connections whose request's head has come in part, the one that began first in front, and
/// what these heads take of memory in all. Nothing here allocates: the places are the connections'.
/// They are dropped first when memory or connections run out: a head that is complete the moment it
/// came is never here, and one that stays long is in front. Belongs to one thread.
class OpenHeads {
 public:
  /// `bytes_max`: of all heads together, beyond the first buffer that each connection has anyway.
  explicit OpenHeads(std::size_t bytes_max) : bytes_max_{bytes_max} {}

  ~OpenHeads();
  OpenHeads(const OpenHeads&) = delete;
  OpenHeads& operator=(const OpenHeads&) = delete;

  /// A head has begun at `since`; nothing happens to one that is open already.
  void open(Connection& connection, TimePoint since);

  /// From now on the open head of `connection` takes `bytes`. If that is too much with all others,
  /// the oldest ones are dropped. False: it is more than all heads may take, or no other head is
  /// left, and nothing has changed.
  [[nodiscard]] bool grow(Connection& connection, std::size_t bytes);

  /// The head is complete, refused or gone; nothing happens to one that is not open.
  void close(Connection& connection) {
    if (connection.open_head_.open) remove(connection);
  }

  /// The connection whose head began first; null when none is open.
  [[nodiscard]] Connection* oldest() const { return oldest_; }

  /// When the head of `connection`, which is open, began.
  [[nodiscard]] static TimePoint since(const Connection& connection) {
    return connection.open_head_.since;
  }

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void remove(Connection& connection);

  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  Connection* oldest_ = nullptr;
  Connection* newest_ = nullptr;
};

/// The response to a client whose head was dropped.
[[nodiscard]] http::OwnResponse open_heads_full();

}  // namespace sluice::net
