#include "tests/simulation/activators_shapes.h"

#include <algorithm>
#include <random>

namespace sluice::simulation {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] double between(double from, double to) {
    return from + (to - from) * static_cast<double>(random_() >> 11) * 0x1p-53;
  }

  [[nodiscard]] std::int32_t whole(std::int32_t from, std::int32_t to) {
    return from + static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(to - from + 1));
  }

 private:
  std::mt19937_64 random_;
};

autoscaler::StringMap scaling_of(Draw& draw, std::int32_t container_concurrency) {
  autoscaler::StringMap annotations;
  const auto set = [&annotations](const std::string& name, std::int32_t value,
                                  const std::string& unit = {}) {
    annotations["autoscaling.knative.dev/" + name] = std::to_string(value) + unit;
  };
  if (container_concurrency == 0) set("target", 10);
  set("window", draw.whole(6, 12), "s");
  set("panic-window-percentage", 17);
  set("scale-down-delay", draw.whole(0, 1) * 3, "s");
  set("max-scale", draw.whole(4, 10));
  return annotations;
}

// Bursts with silence between, or one long load: arrivals per second.
std::function<double(Duration)> rate_of(Draw& draw, bool naps) {
  const double high = draw.between(4, 18);
  const double low = naps ? 0.0 : draw.between(0, 3);
  const Duration period = from_seconds(naps ? draw.between(18, 30) : draw.between(8, 30));
  const Duration burst = from_seconds(to_seconds(period) * draw.between(0.1, naps ? 0.25 : 0.6));
  return [=](Duration since) { return since % period < burst ? high : low; };
}

void add_deaths(Faults& faults, Draw& draw) {
  faults.pod_kills_per_second = draw.between(0, 0.08);
  faults.share_failed_starts = draw.between(0, 0.3);
  faults.share_slow_starts = draw.between(0, 0.3);
  faults.share_refused_connects = draw.between(0, 0.08);
  faults.share_silent_probes = draw.between(0, 0.3);
  faults.share_leaving_clients = draw.between(0, 0.1);
}

void add_links(Faults& faults, Draw& draw) {
  faults.cuts_per_second = draw.between(0, 0.15);
  faults.stalls_per_second = draw.between(0, 0.1);
  faults.share_late_files = draw.between(0, 0.4);
  faults.share_lost_scrapes = draw.between(0, 0.4);
}

void add_restarts(Faults& faults, Draw& draw) {
  faults.autoscaler_kills_per_second = draw.between(0.02, 0.12);
}

void add_crowd(Faults& faults, Draw& draw) {
  faults.activator_leaves_per_second = draw.between(0.02, 0.15);
  faults.activator_joins_per_second = draw.between(0, 0.1);
}

void add_batches(Faults& faults, Draw& draw) {
  faults.share_lost_batches = draw.between(0, 0.3);
  faults.share_doubled_batches = draw.between(0, 0.3);
  faults.share_late_batches = draw.between(0, 0.3);
}

void add_faults(ActivatorsWorld& world, ActivatorsShape shape, Draw& draw) {
  Faults& faults = world.faults;
  const bool all = shape == ActivatorsShape::storm;
  if (all || shape == ActivatorsShape::deaths) add_deaths(faults, draw);
  if (all || shape == ActivatorsShape::links) add_links(faults, draw);
  if (all || shape == ActivatorsShape::restarts) add_restarts(faults, draw);
  if (all || shape == ActivatorsShape::crowd) add_crowd(faults, draw);
  if (all || shape == ActivatorsShape::websocket) add_batches(faults, draw);
  if (all || shape == ActivatorsShape::clocks) faults.clock_jumps_per_second = 0.1;
  if (shape == ActivatorsShape::websocket) faults.cuts_per_second = draw.between(0, 0.05);
}

}  // namespace

std::string_view name(ActivatorsShape shape) {
  switch (shape) {
    case ActivatorsShape::calm:
      return "calm";
    case ActivatorsShape::naps:
      return "naps";
    case ActivatorsShape::deaths:
      return "deaths";
    case ActivatorsShape::links:
      return "links";
    case ActivatorsShape::restarts:
      return "restarts";
    case ActivatorsShape::crowd:
      return "crowd";
    case ActivatorsShape::clocks:
      return "clocks";
    case ActivatorsShape::websocket:
      return "websocket";
    case ActivatorsShape::storm:
      return "storm";
  }
  return "";
}

ActivatorsWorld activators_world(ActivatorsShape shape, std::uint64_t seed) {
  Draw draw{seed * 1'000 + static_cast<std::uint64_t>(shape)};
  ActivatorsWorld world;
  world.shape = name(shape);
  world.seed = seed;
  const bool crowd = shape == ActivatorsShape::crowd;
  const std::array limits{0, 1, 1, 2, 3, 5};
  world.container_concurrency = limits[static_cast<std::size_t>(draw.whole(0, 5))];
  world.activators = crowd ? draw.whole(3, 5) : draw.whole(1, 3);
  world.revisions = draw.whole(1, 2);
  world.annotations = scaling_of(draw, world.container_concurrency);
  world.rate = rate_of(draw, shape == ActivatorsShape::naps);
  world.sidecar_depth = draw.whole(1, 30);
  world.queue_depth = draw.whole(0, 2) == 0 ? draw.whole(3, 20) : 500;
  world.queue_total = draw.whole(0, 3) == 0 ? draw.whole(5, 30) : 1'000;
  world.service.to = from_seconds(draw.between(0.05, 1.2));
  world.start.to = from_seconds(draw.between(0.2, 4));
  world.length = seconds{draw.whole(30, 50)};
  world.websocket = shape == ActivatorsShape::websocket ||
                    (shape == ActivatorsShape::storm && draw.whole(0, 3) == 0);
  add_faults(world, shape, draw);
  if (draw.whole(0, 4) == 0) world.queue_wait = seconds{draw.whole(1, 8)};
  if (shape == ActivatorsShape::naps || shape == ActivatorsShape::storm) {
    world.faults.shortages_per_second = draw.between(0, 0.1);
  }
  return world;
}

void break_streams(ActivatorsWorld& world) {
  world.activators = 1;
  world.faults.cuts_per_second = 2;
  world.faults.cut_noticed = {Duration{0}, milliseconds{100}};
}

}  // namespace sluice::simulation
