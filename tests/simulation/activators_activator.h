#pragma once

#include "activator/core/autoscaler_link.h"
#include "activator/core/pod_subset.h"
#include "activator/core/queue_budget.h"
#include "activator/core/request_reporter.h"
#include "activator/core/throttler.h"
#include "common/messages/activator_stream.h"
#include "common/time/time_point.h"
#include "tests/simulation/activators_ledger.h"
#include "tests/simulation/activators_platform.h"
#include "tests/simulation/activators_prober.h"
#include "tests/simulation/activators_scene.h"
#include "tests/simulation/activators_wire.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sluice::simulation {

/// One life of an activator: gate, prober and place of each revision, and the link to the
/// autoscaler, joined as the program joins them.
class ActivatorProgram {
 public:
  struct Identity {
    std::string name;
    std::string address;
  };

  /// Opens a wire to the autoscaler that lives; null when none does.
  using Dial = std::function<Wire*(ActivatorProgram&)>;

  /// Starts: the files are read as they are. The rest outlives this.
  ActivatorProgram(Scene& scene, Platform& platform, Identity identity, Dial dial);

  [[nodiscard]] const Identity& identity() const { return identity_; }

  /// A name that no other life has.
  [[nodiscard]] std::string run_name() const {
    return identity_.name + "@" + std::to_string(started_.time_since_epoch().count());
  }

  [[nodiscard]] TimePoint started() const { return started_; }

  [[nodiscard]] bool alive() const { return alive_; }

  /// Takes new requests: it lives, and its drain has not come so far.
  [[nodiscard]] bool accepts() const { return alive_ && accepts_; }

  [[nodiscard]] bool draining() const { return draining_; }

  [[nodiscard]] TimePoint now() const { return scene_.timeline.now() + offset_; }

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

  [[nodiscard]] std::optional<proto::ActivatorMessage> next_message();
  void received(proto::AutoscalerMessage message);
  void lost(Wire& wire);

  [[nodiscard]] Wire* wire() const { return wire_; }

  // --- what it looks like from outside ---

  [[nodiscard]] bool avoids(std::size_t revision, const std::string& dest) const {
    return doors_[revision]->avoid.contains(dest);
  }

  [[nodiscard]] std::int32_t waiting(std::size_t revision) const {
    return doors_[revision]->throttler.waiting();
  }

  /// Pods that take requests.
  [[nodiscard]] std::size_t pods(std::size_t revision) const {
    return doors_[revision]->throttler.pods();
  }

  [[nodiscard]] std::int64_t in_flight() const;

  [[nodiscard]] const proto::RevisionState* state(std::size_t revision) const {
    return link_.state(Platform::id(revision));
  }

  /// Reached the autoscaler: the stream was welcomed, or the WebSocket is open.
  [[nodiscard]] bool linked() const;

 private:
  struct Door {
    Door(const ActivatorsWorld& world, std::uint64_t seed);

    std::size_t revision = 0;
    activator::Throttler throttler;
    activator::QueueShare share{};
    activator::RequestReporter::Handle handle{};
    Ledger::Door book = 0;
    std::unique_ptr<Prober> prober{};
    std::set<std::string> avoid{};
    std::map<std::string, bool> listed{};  // by dest: whether to be avoided
    std::optional<TimePoint> alarm{};      // true time
  };

  struct Call {
    Door* door = nullptr;
    TimePoint since{};     // by the clock
    TimePoint deadline{};  // likewise
    bool body = false;
    std::uint64_t attempt = 0;
    activator::PodRef pod{};
    std::string dest{};  // while a pod has it
    std::vector<activator::PodRef> tried{};
    std::optional<activator::Ticket> ticket{};  // while it waits
  };

  // As an attempt: the request went nowhere (a mutant).
  static constexpr std::uint64_t kLost = ~std::uint64_t{0};

  using Calls = std::map<Ledger::Request, Call>;

  void tick();
  void dial();
  [[nodiscard]] std::vector<proto::Waiting> waiting_now() const;
  void poke(Door& door);
  void put_in_force(const proto::RevisionState& state);
  void set_grant(Door& door, const activator::Grant& grant);
  void relist(Door& door);
  void trust(Door& door, const std::string& dest);
  void show_list(Door& door);
  void list_at_once(Door& door, const std::map<std::string, bool>& wanted);
  void list_one_by_one(Door& door, const std::map<std::string, bool>& wanted);

  void enter(Ledger::Request request, Call& call);
  void admit(Door& door, const std::vector<activator::Admission>& admitted);
  void send(Ledger::Request request, Call& call, activator::PodRef pod);
  void reach_pod(Ledger::Request request, std::uint64_t attempt);
  void answered(Ledger::Request request, std::uint64_t attempt, PodAnswer answer);
  void turned_away(Ledger::Request request, Reason reason);
  void give_up(Ledger::Request request, Ending ending, Reason reason);
  void end(Ledger::Request request, Ending ending, Reason reason = Reason::none);
  void leave(Door& door, activator::PodRef pod, bool full);
  void stop_waiting(Call& call);
  void look(Door& door);
  void arm(Door& door);
  void leave_if_drained();

  Scene& scene_;
  Platform& platform_;
  Identity identity_;
  Dial dial_;
  TimePoint started_;
  Duration offset_{0};
  bool alive_ = true;
  bool accepts_ = true;
  bool draining_ = false;
  bool one_by_one_ = false;  // how lists are told to the throttler
  activator::ActivatorPlace place_{};
  activator::QueueBudget budget_;
  activator::RequestReporter reporter_;
  activator::AutoscalerLink link_;
  activator::AutoscalerLink::Stream stream_ = 0;
  Wire* wire_ = nullptr;
  std::vector<std::unique_ptr<Door>> doors_;
  Calls calls_;
};

}  // namespace sluice::simulation
