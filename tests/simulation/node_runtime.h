#pragma once

#include "common/loop/manual_loop.h"
#include "tests/simulation/node_kernel.h"
#include "tests/simulation/node_run.h"

#include "memory-pressure/io/container_view.h"
#include "memory-pressure/io/runtime.h"
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::node_agent {

/// The container runtime of the simulated node, and what its kernel shows of containers. Calls take
/// their time; some are lost, some late, and now and then the runtime is down.
class SimRuntime final : public Runtime, public ContainerView {
 public:
  struct Parts {
    SimKernel& kernel;
    ManualTime& time;
    const ManualLoop& clock;  ///< the agent's and the runtime's
    const NodeFaults& faults;
    std::optional<double> sight_ms;  ///< absent: births are seen in the next list only
    const Doctoring& doctoring;
    std::mt19937_64& random;
    std::function<void(const std::string& id)> stopped;  ///< ends a container
  };

  /// What the parts refer to outlives this.
  explicit SimRuntime(Parts parts) : parts_{std::move(parts)}, began_{parts_.time.now()} {}

  /// The agent that asked is dead: the next one finds nothing in its memory.
  void forget();

  [[nodiscard]] bool is_down() const;

  [[nodiscard]] int updates() const { return updates_; }

  [[nodiscard]] int freezes() const { return freezes_; }

  [[nodiscard]] const std::vector<std::string>& breaches() const { return breaches_; }

  void connect(Found done) override;

  [[nodiscard]] const std::string& socket() const override { return socket_; }

  void update(const std::string& id, const CpuQuota& quota, const Answered& done) override;
  void stop(const std::string& id, Duration grace, const Answered& done) override;

  // How containers end matters for metrics and evictions only, and no kubelet evicts here.
  void on_ended(Ended /*ended*/) override {}

  void on_pod_ended(PodEnded /*ended*/) override {}

  void on_born(std::function<void()> born) override { born_ = std::move(born); }

  /// The program of a new container begins. Seen after `NodeScene::sight_ms`.
  void begin(const std::string& id);

  void look(std::function<void(bool answered)> done) override;
  void sample(TimePoint now, bool hurry) override;

  [[nodiscard]] std::vector<Container> containers() const override { return known_; }

  [[nodiscard]] std::string shown(const std::string& id) const override { return id; }

  [[nodiscard]] bool answers() const override { return answers_; }

  void read_quota(const std::string& id,
                  std::function<void(std::optional<CpuQuota>)> done) override;

  void freeze(const Freeze& order,
              const std::function<void(Outcome, const std::string& text)>& done) override;

  bool reclaim(const std::string& /*id*/, std::int64_t /*bytes*/) override { return false; }

  [[nodiscard]] std::string_view cgroups() const override { return "simulated"; }

 private:
  [[nodiscard]] double dice() {
    return std::uniform_real_distribution<double>{0, 1}(parts_.random);
  }

  [[nodiscard]] Cgroup* touched(const std::string& id);
  void take_effect(const std::string& id, const CpuQuota& quota);
  void list();
  void see_birth(const std::string& id, bool described);
  void measure(Container& one);

  Parts parts_;
  TimePoint began_;
  std::string socket_ = "simulated";
  std::set<std::string> in_flight_;  // ids of updates that will be answered
  std::vector<Container> known_;
  std::map<std::string, TimePoint> born_at_;        // as seen
  std::function<void()> born_;                      // of the agent that lives
  std::vector<std::function<void(bool)>> waiting_;  // for the list under way
  TimePoint sampled_;                               // in true time
  bool looking_ = false;
  bool answers_ = false;
  int updates_ = 0;
  int freezes_ = 0;
  std::vector<std::string> breaches_;
};

}  // namespace sluice::node_agent
