#pragma once

#include "autoscaler/core/view/fleet_rows.h"
#include "autoscaler/core/view/series.h"
#include "autoscaler/io/fleet_events.h"
#include "autoscaler/io/front_facts.h"
#include "autoscaler/io/revision.h"
#include "common/base/lifetime.h"
#include "common/loop/loop.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sluice::autoscaler {

/// What lists and charts show of a fleet: looks each second at the revisions that serve or have
/// changed, a few in each turn of the loop. One that sleeps costs nothing.
class FleetView final : public RevisionWatch {
 public:
  /// All outlive this. `front` is null in a cluster.
  FleetView(Loop& clock, FleetEvents& events, const FrontFacts* front);
  FleetView(const FleetView&) = delete;
  FleetView& operator=(const FleetView&) = delete;
  ~FleetView() override;

  /// The rows as of the last look: a second old, where many serve a little more.
  [[nodiscard]] const FleetRows& rows() const { return rows_; }

  [[nodiscard]] const SeriesBook& series() const { return series_; }

  /// Under which name the series of a revision is kept: on one machine those of its service.
  [[nodiscard]] RevisionId series_of(const Revision& revision) const;

  /// The name of a series of all services together: `rps`, `queued`, `ready` and `want`.
  [[nodiscard]] static RevisionId series_of_all() { return {}; }

  /// Latencies of all requests that ended in the last ten seconds.
  [[nodiscard]] LatencyCounts latency() const;

  /// What is known of it now; of what is counted in a second the last whole one.
  [[nodiscard]] SeriesPoint point_of(const Revision& revision) const;

  /// `done` is called after each look.
  void on_look(std::function<void()> done) { on_look_ = std::move(done); }

  /// While it is set there is a look each second, also where nothing changes.
  void keep_looking(bool keep);

  void on_changed(const Revision& revision) override;
  void on_gone(const Revision& revision) override;

 private:
  // A revision that serves, or did a minute ago: what was counted of it at the last look.
  struct Lively {
    LatencyMark mark;
    std::uint64_t errors = 0;
    std::uint64_t refused = 0;
    bool counted = false;  // the two above are
    TimePoint awake_at{};
    SeriesPoint last;
  };

  void arm();
  void begin_look();
  void go_on();
  void look_at(const Revision& revision);
  void count(const Revision& revision, Lively& lively);
  void count_all();
  void set_levels(const Revision& revision, SeriesPoint& point) const;
  [[nodiscard]] FleetRow row_of(const Revision& revision, const SeriesPoint& point) const;
  [[nodiscard]] FrontFacts::Counted counted(const Revision& revision) const;

  Loop& clock_;
  FleetEvents& events_;
  const FrontFacts* front_;
  FleetRows rows_;
  SeriesBook series_;
  std::unordered_map<const Revision*, Lively> lively_;
  std::unordered_set<const Revision*> changed_;
  std::unordered_set<const Revision*> asleep_;  // with a row that says so
  std::vector<const Revision*> work_;           // of the look that is under way
  std::int64_t second_ = 0;                     // that it is about
  LatencyCounts ended_;                         // requests of that second

  struct Second {
    std::int64_t number = 0;
    LatencyCounts ended;
  };

  std::array<Second, 10> latency_{};
  std::unique_ptr<Timer> timer_;
  std::function<void()> on_look_;
  bool keeps_looking_ = false;
  bool armed_ = false;
  Lifetime alive_;
};

}  // namespace sluice::autoscaler
