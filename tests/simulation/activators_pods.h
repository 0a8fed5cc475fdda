#pragma once

#include "activator/io/pod_asker.h"
#include "activator/io/pod_list.h"
#include "common/base/ids.h"
#include "tests/simulation/activators_ledger.h"
#include "tests/simulation/activators_platform.h"
#include "tests/simulation/activators_scene.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace sluice::simulation {

/// Probes of simulated pods.
class SimulatedAsker final : public activator::PodAsker {
 public:
  /// Both outlive this.
  SimulatedAsker(Scene& scene, Platform& platform) : scene_(scene), platform_(platform) {}

  [[nodiscard]] std::unique_ptr<Question> ask(net::UpstreamPool& pool,
                                              net::PoolProbeRequest request,
                                              net::PoolProbe::Done done) override;

 private:
  Scene& scene_;
  Platform& platform_;
};

/// The gateway's pods as the prober sees them: books every change before the gateway gets it.
class NotedPods final : public activator::PodList {
 public:
  using DoorOf = std::function<Ledger::Door(activator::RevisionHandle)>;

  /// Both references outlive this.
  NotedPods(activator::PodList& front, Ledger& ledger, DoorOf door_of)
      : front_(front), ledger_(ledger), door_of_(std::move(door_of)) {}

  [[nodiscard]] const RevisionId& id_of(activator::RevisionHandle revision) const override {
    return front_.id_of(revision);
  }

  void set_pod_limit(activator::RevisionHandle revision, std::int32_t limit) override {
    front_.set_pod_limit(revision, limit);
  }

  net::UpstreamPool& know_pod(activator::RevisionHandle revision,
                              const activator::FrontPod& pod) override {
    return front_.know_pod(revision, pod);
  }

  [[nodiscard]] net::UpstreamPool* pool_of(activator::RevisionHandle revision,
                                           const PodId& pod) override {
    return front_.pool_of(revision, pod);
  }

  void list_pod(activator::RevisionHandle revision, const PodId& pod, bool avoid,
                std::int32_t capacity) override;
  void unlist_pod(activator::RevisionHandle revision, const PodId& pod) override;
  void forget_pod(activator::RevisionHandle revision, const PodId& pod) override;
  void trust_pod(activator::RevisionHandle revision, const PodId& pod) override;

 private:
  void show(activator::RevisionHandle revision);

  activator::PodList& front_;
  Ledger& ledger_;
  DoorOf door_of_;
  std::map<activator::RevisionHandle, std::map<std::string, bool>> listed_;  // whether to avoid
};

}  // namespace sluice::simulation
