#pragma once

#include "autoscaler/core/activators/activator_hub.h"
#include "autoscaler/core/decision/multi_scaler.h"
#include "autoscaler/core/nodes/removals.h"
#include "common/messages/activator_stream.h"
#include "common/time/time_point.h"
#include "tests/simulation/activators_platform.h"
#include "tests/simulation/activators_scene.h"
#include "tests/simulation/activators_wire.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::simulation {

/// One life of the autoscaler: the scalers of all revisions and the hub of all streams, joined as
/// the program joins them. It reads the pods' files, scrapes, decides, and writes the scale files.
class AutoscalerProgram {
 public:
  /// An activator that lives, as far as it chooses pods of a revision.
  struct Living {
    const ActivatorProgram* program = nullptr;
    std::string name;
    TimePoint started;    ///< true time
    bool avoids = false;  ///< the pod that was asked about
  };

  using Choosers =
      std::function<std::vector<Living>(std::size_t revision, const std::string& dest)>;

  /// Starts: the files are read as they are. The rest outlives this.
  AutoscalerProgram(Scene& scene, Platform& platform, Choosers choosers);

  /// SIGKILL.
  void kill();

  [[nodiscard]] bool alive() const { return alive_; }

  [[nodiscard]] TimePoint now() const { return scene_.timeline.now() + offset_; }

  /// Its clock moves, and the world does not notice.
  void jump(Duration by);

  /// A revision's file is read.
  void read_pods(std::size_t revision);

  // --- wires ---

  [[nodiscard]] std::optional<autoscaler::ActivatorHub::Session> opened(Wire& wire);
  void closed(Wire& wire);
  void received(Wire& wire, proto::ActivatorMessage message);
  void received(const std::vector<proto::StatMessage>& batch);
  [[nodiscard]] std::optional<proto::AutoscalerMessage> next_message(
      autoscaler::ActivatorHub::Session session);

  [[nodiscard]] const proto::RevisionState* state(std::size_t revision) const {
    return hub_.state(Platform::id(revision));
  }

  [[nodiscard]] std::size_t connected() const;

 private:
  struct Revision {
    std::vector<PodLine> pods{};  // of the file as it was read
    autoscaler::ScalerHandle handle{};
    autoscaler::ScaleState state{};
    std::int32_t want = 0;
    autoscaler::Removals removals{};
    std::optional<ScaleLine> written{};  // the scale file
  };

  void tick();
  void scrape(std::size_t revision);
  void evaluate(std::size_t revision, autoscaler::Trigger trigger);
  void publish(std::size_t revision);
  void release(std::size_t revision);
  [[nodiscard]] proto::RevisionState state_of(std::size_t index, const Revision& revision) const;
  void check_removal(std::size_t index, const std::string& name);
  void push(const RevisionId& revision, const autoscaler::Stat& stat,
            std::optional<TimePoint> stamp, autoscaler::StatDoor door);
  void pump();
  [[nodiscard]] std::int32_t ready(const Revision& revision) const;
  [[nodiscard]] std::optional<std::size_t> index_of(const RevisionId& revision) const;

  Scene& scene_;
  Platform& platform_;
  Duration offset_{0};
  Choosers choosers_;
  bool alive_ = true;
  TimePoint started_;  // by its clock
  TimePoint born_;     // true
  autoscaler::MultiScaler scalers_;
  autoscaler::ActivatorHub hub_;
  std::vector<Revision> revisions_;
  std::vector<autoscaler::MultiScaler::Due> due_;
  std::vector<Wire*> wires_;
  std::map<const ActivatorProgram*, TimePoint> heard_;  // by its clock
  std::map<std::string, double> loads_;                 // of the last scrape, by pod
};

}  // namespace sluice::simulation
