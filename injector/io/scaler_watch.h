#pragma once

#include "common/kube/client.h"
#include "common/kube/informer.h"
#include "common/kube/place.h"
#include "common/kube/request_scaler.h"

#include <boost/asio/io_context.hpp>

#include "injector/patch/pod_patch.h"
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>

namespace sluice::injector {

/// The RequestScalers of the cluster, found by what they scale. While the API server is away, what
/// was last known counts.
class ScalerWatch {
 public:
  using Place = kube::Place;

  /// All of `place` outlives this.
  explicit ScalerWatch(const Place& place);

  void start() { scalers_.start(); }

  /// The settings of the scaler of that workload; the first by name if there are several.
  [[nodiscard]] std::optional<ScalerFacts> find(const std::string& space,
                                                const OwnerName& target) const;

  /// The name of a scaler of that workload that is not `scaler`; empty: none.
  [[nodiscard]] std::string rival(const std::string& space, const OwnerName& target,
                                  const std::string& scaler) const;

  [[nodiscard]] const kube::Reflector::State& state() const { return scalers_.state(); }

  [[nodiscard]] std::size_t size() const { return scalers_.all().size(); }

 private:
  using Target = std::tuple<std::string, std::string, std::string>;  // namespace, kind, name

  void changed(const kube::ObjectName& name, const kube::RequestScaler& scaler);
  void gone(const kube::ObjectName& name);

  std::map<kube::ObjectName, Target> targets_;
  std::map<Target, std::set<std::string>> by_target_;
  kube::Informer<kube::RequestScaler> scalers_;
};

}  // namespace sluice::injector
