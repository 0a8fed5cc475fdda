#pragma once

#include "activator/io/autoscaler_desk.h"
#include "activator/io/autoscaler_line.h"
#include "activator/io/autoscaler_peer.h"
#include "activator/io/front_gateway.h"
#include "activator/io/pod_prober.h"
#include "activator/io/revision_book.h"
#include "common/log/log.h"
#include "common/loop/manual_loop.h"
#include "common/messages/activator_stream.h"
#include "common/time/time_point.h"
#include "tests/simulation/activators_call.h"
#include "tests/simulation/activators_ledger.h"
#include "tests/simulation/activators_platform.h"
#include "tests/simulation/activators_pods.h"
#include "tests/simulation/activators_scene.h"
#include "tests/simulation/activators_wire.h"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace sluice::simulation {

/// The world around one run of an activator: it starts what the program runs, reads the files for
/// it, dials the autoscaler, brings it requests, and books what becomes of them.
class SimActivator final : private activator::FrontOwner, private CallOwner {
 public:
  struct Identity {
    std::string name;
    std::string address;
  };

  /// Opens a wire to the running autoscaler; null when none runs.
  using Dial = std::function<Wire*(SimActivator&)>;

  /// Starts: the files are read as they are. The rest outlives this.
  SimActivator(Scene& scene, Platform& platform, Identity identity, Dial dial);
  ~SimActivator() override;

  [[nodiscard]] const Identity& identity() const { return identity_; }

  /// A name that no other run has.
  [[nodiscard]] std::string run_name() const {
    return identity_.name + "@" + std::to_string(started_.time_since_epoch().count());
  }

  [[nodiscard]] TimePoint started() const { return started_; }

  [[nodiscard]] bool alive() const { return engine_ != nullptr; }

  /// Takes new requests: it runs, and its drain has not come so far.
  [[nodiscard]] bool accepts() const { return alive() && accepts_; }

  [[nodiscard]] bool draining() const { return draining_; }

  /// Its clock moves, and the world does not notice.
  void jump(Duration by);

  /// SIGTERM: it takes requests for a while, finishes all it has, and is gone.
  void drain();

  // --- files ---

  void read_pods(std::size_t revision);
  void read_activators();

  // --- requests ---

  void arrive(std::size_t revision);

  // --- the wire ---

  void received(Wire& wire, proto::AutoscalerMessage message);
  void writable(Wire& wire);
  void lost(Wire& wire);

  // --- what it looks like from outside ---

  [[nodiscard]] bool avoids(std::size_t revision, const std::string& dest) const {
    return doors_[revision].avoid.contains(dest);
  }

  [[nodiscard]] std::int32_t waiting(std::size_t revision) const {
    return engine_->front.waiting(doors_[revision].handle);
  }

  /// Pods that take requests.
  [[nodiscard]] std::size_t pods(std::size_t revision) const {
    return engine_->front.pods(doors_[revision].handle);
  }

  [[nodiscard]] std::int64_t in_flight() const { return engine_->front.in_flight(); }

  [[nodiscard]] const proto::RevisionState* state(std::size_t revision) const {
    return engine_->peer->state(Platform::id(revision));
  }

  /// Reached the autoscaler: the stream was welcomed, or the WebSocket is open.
  [[nodiscard]] bool linked() const;

 private:
  class Line;
  class Dialler;
  class SocketPeer;

  struct Door {
    activator::RevisionHandle handle{};
    Ledger::Door book = 0;
    std::set<std::string> avoid{};
  };

  // What the program `activator` is made of, over simulated seams.
  struct Engine {
    explicit Engine(SimActivator& program);

    boost::asio::io_context io;  // of the pools; no connection is ever made
    ManualLoop loop;
    log::Logger log{"activator", log::Severity::error};
    SimulatedAsker asker;
    activator::FrontGateway front;
    NotedPods pods;
    activator::PodProber prober;
    activator::RevisionBook book;
    activator::AutoscalerDesk desk{loop, front, prober, book};
    std::unique_ptr<activator::AutoscalerDialler> dialler;
    std::unique_ptr<activator::AutoscalerPeer> peer;
  };

  // As the owner of the gateway.
  void on_poke(activator::RevisionHandle revision, const activator::RevisionStat& stat) override;

  void on_held(activator::RevisionHandle /*revision*/) override {}

  void on_pod_drained(activator::RevisionHandle /*revision*/, const PodId& /*pod*/) override {}

  void on_pod_refused(activator::RevisionHandle revision, const PodId& pod,
                      activator::PodRefusal refusal) override;

  [[nodiscard]] std::string cold_start(activator::RevisionHandle /*revision*/, const PodId& /*pod*/,
                                       TimePoint /*arrived*/, TimePoint /*dispatched*/) override {
    return {};
  }

  void on_served(activator::RevisionHandle /*revision*/,
                 const activator::Served& /*served*/) override {}

  // As the owner of calls.
  [[nodiscard]] TimePoint now() const override { return engine_->loop.now(); }

  [[nodiscard]] bool queues_full() const override;
  void gone(Ledger::Request request) override;

  [[nodiscard]] std::unique_ptr<activator::AutoscalerPeer> make_peer();
  [[nodiscard]] Door& door_of(activator::RevisionHandle revision);
  void put_in_force(const proto::RevisionState& state);
  void forget(const RevisionId& revision);
  void dial();
  void dial_later();
  void leave_if_drained();

  Scene& scene_;
  Platform& platform_;
  Identity identity_;
  Dial dial_;
  TimePoint started_;
  Duration ahead_{0};
  bool accepts_ = true;
  bool draining_ = false;
  Wire* wire_ = nullptr;
  activator::AutoscalerLine::Events events_;  // of the line; none in the WebSocket form
  std::vector<Door> doors_;                   // by revision
  std::map<Ledger::Request, std::unique_ptr<SimulatedCall>> calls_;
  std::unique_ptr<Engine> engine_;  // null: it is gone
};

}  // namespace sluice::simulation
