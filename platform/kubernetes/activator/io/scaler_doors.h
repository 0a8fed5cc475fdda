#pragma once

#include "activator/io/front_gateway.h"
#include "common/log/log.h"
#include "common/net/server/proxy_server.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>

#include "platform/kubernetes/activator/core/door_table.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::activator {

struct DoorsSpec {
  std::string host;          ///< to listen on; empty: all interfaces
  net::ServerLimits limits;  ///< of each door; `shared` counts the connections of all
  /// How long the connections of a closed door may continue.
  Duration farewell = std::chrono::minutes{10};
};

/// One port per RequestScaler (protocols.md 8): a request that arrives there belongs to that
/// revision before anything in it is read. Behind each is the same gateway as behind the main door.
/// Belongs to one thread.
class ScalerDoors {
 public:
  /// The gateway's number of the revision; absent: there is none.
  using Find = std::function<std::optional<RevisionHandle>(const RevisionId&)>;

  /// All references outlive the doors.
  ScalerDoors(boost::asio::io_context& io, const Clock& clock, FrontGateway& front, Find find,
              const log::Logger& log, DoorsSpec spec);
  ~ScalerDoors();
  ScalerDoors(const ScalerDoors&) = delete;
  ScalerDoors& operator=(const ScalerDoors&) = delete;

  /// The port of this revision from now on, 0 for none; takes effect with settle().
  void want(const RevisionId& revision, std::uint16_t port);

  /// Opens and closes what is to be. A port that cannot be bound is tried again at the next call.
  void settle();

  /// Ends what is left of doors that were closed, tries again what failed, and closes idle
  /// connections when there are too many; call now and then.
  void sweep();

  void on_quiet(std::function<void()> quiet) { quiet_ = std::move(quiet); }

  // As of net::ProxyServer, of all doors.
  void close_after_responses();
  void close_idle();
  void close_tunnels();
  void stop_accepting();
  [[nodiscard]] std::size_t connections() const;
  [[nodiscard]] std::size_t in_flight() const;

  [[nodiscard]] std::size_t open() const { return table_.open(); }

  [[nodiscard]] std::size_t missing() const { return table_.missing(); }

 private:
  struct Door;

  void open(const DoorTable::Step& step);
  void close(const DoorTable::Step& step);
  template <class Visit>
  void each(Visit visit) const;

  boost::asio::io_context& io_;
  const Clock& clock_;
  FrontGateway& front_;
  Find find_;
  const log::Logger& log_;
  DoorsSpec spec_;
  DoorTable table_;
  std::map<std::uint16_t, std::unique_ptr<Door>> doors_;
  std::vector<std::unique_ptr<Door>> leaving_;
  std::map<std::uint16_t, std::string> refused_;  // why a port cannot be bound, as logged
  std::function<void()> quiet_;
  bool stopped_ = false;
};

}  // namespace sluice::activator
