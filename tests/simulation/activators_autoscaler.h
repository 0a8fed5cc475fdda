#pragma once

#include "autoscaler/core/activators/activator_hub.h"
#include "autoscaler/core/nodes/node_book.h"
#include "autoscaler/io/activator_streams.h"
#include "autoscaler/io/fleet.h"
#include "autoscaler/io/fleet_events.h"
#include "autoscaler/io/ring_history.h"
#include "autoscaler/io/scale_loop.h"
#include "common/api/event_ring.h"
#include "common/log/log.h"
#include "common/loop/manual_loop.h"
#include "common/messages/activator_stream.h"
#include "common/time/time_point.h"
#include "tests/simulation/activators_platform.h"
#include "tests/simulation/activators_scene.h"
#include "tests/simulation/activators_seams.h"
#include "tests/simulation/activators_wire.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sluice::simulation {

/// The world around one run of the autoscaler: it starts the engine that the program runs, reads
/// the files for it, carries its wires, and notes whatever it orders.
class SimAutoscaler {
 public:
  /// A running activator, as far as it chooses pods of a revision.
  struct Living {
    const SimActivator* program = nullptr;
    std::string name;
    TimePoint started;    ///< true time
    bool avoids = false;  ///< the pod that was asked about
  };

  using Choosers =
      std::function<std::vector<Living>(std::size_t revision, const std::string& dest)>;

  /// Starts: the files are read as they are. The rest outlives this.
  SimAutoscaler(Scene& scene, Platform& platform, Choosers choosers);

  /// SIGKILL.
  void kill();

  [[nodiscard]] bool alive() const { return engine_ != nullptr; }

  /// Its clock moves, and the world does not notice.
  void jump(Duration by);

  /// A revision's file is read.
  void read_pods(std::size_t revision);

  /// The agent of the node reports whether there is room.
  void read_room();

  // --- wires ---

  /// False: it is full.
  [[nodiscard]] bool opened(Wire& wire);
  void closed(Wire& wire);
  void received(Wire& wire, proto::ActivatorMessage message);
  void received(const std::vector<proto::StatMessage>& batch);

  [[nodiscard]] const proto::RevisionState* state(std::size_t revision) const {
    return engine_->hub.state(Platform::id(revision));
  }

 private:
  // What the program `autoscaler` is made of, over simulated seams.
  struct Engine {
    Engine(SimAutoscaler& program, TimePoint first);

    ManualLoop loop;
    log::Logger log{"autoscaler", log::Severity::error};
    std::mt19937_64 random;
    autoscaler::ScaleLoop scale_loop{loop};
    autoscaler::ActivatorHub hub;
    autoscaler::NodeBook nodes;
    placement::Placement placement{nodes.gates()};
    api::EventRing ring;
    autoscaler::RingHistory history;
    autoscaler::FleetEvents events{loop, ring, history};
    SimulatedPlatform platform;
    SimulatedStats stats;
    autoscaler::Surroundings around;
    autoscaler::Fleet fleet{around};
    autoscaler::ActivatorStreams streams;
  };

  [[nodiscard]] TimePoint now() const { return engine_->loop.now(); }

  [[nodiscard]] std::size_t connected() const;
  void heard(const autoscaler::ActivatorHub::Heard& heard);
  void ordered(std::size_t revision, const std::optional<ScaleLine>& before, const ScaleLine& now);
  void check_removal(std::size_t revision, const std::string& pod);

  Scene& scene_;
  Platform& platform_;
  Choosers choosers_;
  TimePoint born_;                                  // true
  TimePoint started_;                               // by its clock
  std::map<const SimActivator*, TimePoint> heard_;  // by its clock
  std::map<std::string, std::string> dests_;        // of the pods that it has read of, by name
  std::vector<Wire*> sockets_;                      // in the WebSocket form
  std::uint64_t room_reports_ = 0;
  std::unique_ptr<Engine> engine_;  // null: killed
};

}  // namespace sluice::simulation
