#pragma once

#include "autoscaler/core/decision/decision_record.h"
#include "autoscaler/core/nodes/node_book.h"
#include "autoscaler/io/decision_json.h"
#include "autoscaler/io/front_facts.h"
#include "autoscaler/io/history.h"
#include "common/api/event_ring.h"
#include "common/base/ids.h"
#include "common/loop/loop.h"
#include "common/messages/activator_stream.h"
#include "common/model/revision.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::autoscaler {

/// Gets the revisions that may look otherwise now.
class RevisionWatch {
 public:
  virtual ~RevisionWatch() = default;

  virtual void on_changed(const Revision& revision) = 0;

  /// It goes after this.
  virtual void on_gone(const Revision& revision) = 0;
};

/// Turns what happens to revisions into events (one-machine.md 7) and history. Compares a revision
/// with what was last seen of it, and publishes differences only. In a cluster, where events mostly
/// have no reader, what many revisions cause at once keeps figures, and JSON is made for a reader.
class FleetEvents {
 public:
  /// All outlive this. `front` is null in a cluster; with one, the end of a replica that was not
  /// chosen for removal is published by the part that has its exit status.
  FleetEvents(const Loop& clock, api::EventRing& events, History& history,
              const FrontFacts* front = nullptr);
  FleetEvents(const FleetEvents&) = delete;
  FleetEvents& operator=(const FleetEvents&) = delete;
  ~FleetEvents();

  /// `watch` gets every revision from now on, at the start too; null: none does.
  void watch_by(RevisionWatch* watch) { watch_ = watch; }

  /// What exists at the start is taken in without an event; this ends it.
  void begin() { begun_ = true; }

  /// An evaluation changed something.
  void decided(const model::Revision& facts, const DecisionRecord& record);

  /// Anything of the revision may be different now.
  void changed(const Revision& revision);

  /// The revision goes: `what` is `removed`, or `released` when another replica governs it now.
  void gone(const Revision& revision, std::string_view what);

  /// The service event of a revision: `what` has happened to it, such as `changed`.
  void publish_service(const Revision& revision, std::string_view what);

  /// The objects of a revision say something else of how it is scaled and served. Published in
  /// a cluster only: on one machine the part that takes specs does that.
  void spec_changed(const Revision& revision);

  /// The pressure of a node is another than in its last report. An event of no service.
  void pressure_changed(const std::string& name, const NodeBook::Node& node);

  /// An activator has seen a start to its end.
  void cold_start(const Revision& revision, const proto::ColdStart& start);

  /// The last of them as its event; null: none was reported here.
  [[nodiscard]] nlohmann::json last_cold_start(const Revision& revision) const;

  /// How long that took; absent: none was reported here.
  [[nodiscard]] std::optional<double> last_cold_start_ms(const Revision& revision) const;

  void warn(const model::Revision& facts, const std::string& message, const std::string& fix);

 private:
  struct SeenPod {
    std::string name;
    std::string_view state;
    bool throttled = false;
    std::string failed;

    friend bool operator==(const SeenPod&, const SeenPod&) = default;
  };

  struct ColdStart {
    TimePoint at{};
    proto::ColdStart took;
  };

  struct Seen {
    std::string_view state;
    bool in_service = true;
    std::vector<SeenPod> pods;
    std::optional<ColdStart> cold_start;
  };

  [[nodiscard]] bool same_pods(const Revision& revision, const Seen& seen) const;
  void compare_pods(const Revision& revision, const std::vector<SeenPod>& before,
                    const std::vector<SeenPod>& now);
  void publish_pod(const Revision& revision, const SeenPod& pod, std::string_view state,
                   const SeenPod* before);

  const Loop& clock_;
  api::EventRing& events_;
  History& history_;
  const FrontFacts* front_;
  RevisionWatch* watch_ = nullptr;
  bool begun_ = false;
  std::unordered_map<RevisionId, Seen> seen_;
};

/// An event object of a revision, with its type and time.
[[nodiscard]] nlohmann::json event_json(const char* type, TimePoint now, const About& of);

/// The same of no revision.
[[nodiscard]] nlohmann::json event_json(const char* type, TimePoint now);

}  // namespace sluice::autoscaler
