#pragma once

#include "common/net/h2/h2_link.h"

#include "load/core/load_plan.h"
#include "load/io/dial.h"
#include "load/io/exchange.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::loadgen {

class H2Client;
class H2Pool;

/// A request as a stream of a connection that others share.
class H2Exchange final : public Exchange {
 public:
  explicit H2Exchange(Owner& owner) : owner_{owner} {}

  /// Where it is sent next.
  void aim(H2Pool& pool) { pool_ = &pool; }

  void send(const Request& request) override;
  void close() override;

  [[nodiscard]] bool is_open() const override { return false; }

  [[nodiscard]] bool is_connecting() const override;

  [[nodiscard]] Answer answer() const override { return answer_; }

  [[nodiscard]] std::uint64_t carried() const override { return 0; }

  [[nodiscard]] unsigned pending() const override { return 0; }

 private:
  friend class H2Client;

  void take_field(std::string_view name, std::string_view value);
  [[nodiscard]] Ending ending() const;

  Owner& owner_;
  H2Pool* pool_ = nullptr;
  H2Client* client_ = nullptr;  // while it is on its way
  std::size_t place_ = 0;       // among those of the client
  std::int32_t stream_ = 0;
  std::string_view body_;  // what is left to be sent
  bool is_grpc_ = false;
  bool whole_ = false;  // the answer has ended as it should
  Answer answer_;
};

/// How the connections of a pool are used.
struct H2Limits {
  std::size_t connections = 1;              ///< at once
  std::optional<std::size_t> streams = {};  ///< at once on each; absent: as the peer allows
  std::optional<std::uint64_t> reuse = {};  ///< requests that each carries; absent: any number
};

/// One connection of HTTP/2, shared by many requests. No request is sent twice: those that the peer
/// refuses have failed.
class H2Client final : private net::H2Link, private Dial::Owner {
 public:
  /// `pool` owns it.
  H2Client(boost::asio::io_context& io, H2Pool& pool);

  /// Connects; requests may be submitted already.
  void dial();

  /// Continues on a connection for which ALPN has chosen HTTP/2.
  void adopt_stream(net::Stream stream);

  /// Whether it takes one request more.
  [[nodiscard]] bool has_room() const;

  /// Whether it takes requests, perhaps after others.
  [[nodiscard]] bool is_usable() const { return !going_away_ && !link_closed(); }

  [[nodiscard]] std::size_t streams() const { return active_.size(); }

  [[nodiscard]] bool is_connecting() const { return dialling_; }

  void submit(H2Exchange& exchange, const Request& request);

  /// Resets its stream: the answer has no reader.
  void forget(H2Exchange& exchange);

  /// Closes the connection without a word to its requests.
  void close();

  /// Whether it may be destroyed.
  [[nodiscard]] bool is_gone() const { return released_ && !failing_ && dial_.pending() == 0; }

 private:
  struct Events;

  void on_dialled() override;
  void on_dial_failed(Ending ending, const std::string& text) override;
  void on_link_end() override;

  void on_link_released() override { released_ = true; }

  void settle();
  void closed(H2Exchange& exchange, std::uint32_t code);
  void release(H2Exchange& exchange);
  void fail_all(Ending ending, const std::string& text);

  H2Pool& pool_;
  Dial dial_;
  std::vector<H2Exchange*> active_;
  H2Exchange* opener_ = nullptr;  // the request that it is opened for
  std::size_t allowed_ = 0;       // streams at once, once settled
  std::uint64_t carried_ = 0;
  bool dialling_ = false;
  bool settled_ = false;  // the peer's SETTINGS came
  bool going_away_ = false;
  bool failing_ = false;  // in the middle of ending its requests
  bool released_ = false;
};

}  // namespace sluice::loadgen
