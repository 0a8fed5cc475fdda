#pragma once

#include "common/base/lifetime.h"
#include "common/files/platform_directory.h"
#include "common/kube/client.h"
#include "common/kube/group_presence.h"
#include "common/kube/objects.h"
#include "common/kube/reflector.h"
#include "common/log/log.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "platform/kubernetes/activator/core/cluster_view.h"
#include "platform/kubernetes/activator/core/replica_slices.h"
#include "platform/kubernetes/activator/io/knative_release.h"
#include "platform/kubernetes/activator/io/scaler_doors.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::activator {

struct ClusterSpec {
  std::string system_space;     ///< where the Services of the activators and autoscalers are
  std::string autoscaler = {};  ///< the headless Service of the latter; empty: not followed
  /// Of Knative's revisions; absent: that of the release which is installed.
  std::optional<settings::KnativeContract> contract = {};
  std::uint64_t seed = 1;  ///< of the jitter
  /// How long a start waits for the first complete report.
  Duration patience = std::chrono::seconds{10};
};

/// The revisions of a cluster and their pods, from watches of our own, so that the activator keeps
/// working while the autoscaler, or the API server itself, is unavailable: the last state stays in
/// force. Belongs to one thread.
class ClusterPlatform {
 public:
  /// `begun`: everything that exists was reported, or `patience` is over; called once, later.
  using Begun = std::function<void()>;

  /// All references outlive the platform.
  ClusterPlatform(boost::asio::io_context& io, const Clock& clock, const log::Logger& log,
                  std::unique_ptr<kube::Client> client, ClusterSpec spec, model::Listener& listener,
                  ScalerDoors& doors);
  ~ClusterPlatform();
  ClusterPlatform(const ClusterPlatform&) = delete;
  ClusterPlatform& operator=(const ClusterPlatform&) = delete;

  /// The IP addresses of all replicas of the autoscaler, whenever they are others.
  using Replicas = std::function<void(const std::vector<std::string>&)>;

  void on_autoscalers(Replicas replicas) { on_autoscalers_ = std::move(replicas); }

  /// Empty: none was ever reported.
  [[nodiscard]] const std::vector<std::string>& autoscalers() const {
    return autoscalers_.addresses();
  }

  void start(Begun begun);

  /// What a start still waits for, and why; empty once it has begun.
  [[nodiscard]] std::string waiting() const;

  /// Watched kinds, and those of them with an open watch right now.
  struct Watches {
    std::size_t all = 0;
    std::size_t open = 0;
    std::uint64_t lists = 0;
    std::uint64_t events = 0;
  };

  [[nodiscard]] Watches watches() const;

  [[nodiscard]] const kube::Client& client() const { return *client_; }

 private:
  class Feed;

  /// Reads an object into the view.
  using Put = std::function<void(const kube::ObjectName& name, std::string_view json)>;
  using Gone = std::function<void(const kube::ObjectName& name)>;

  void follow_scalers();
  void put_private_service(const kube::ObjectName& name, const kube::Service& service);
  void follow_slices();
  void follow_autoscalers();
  void follow_knative();
  void follow_knative_places();
  [[nodiscard]] std::unique_ptr<Feed> feed(kube::Collection collection, Put put, Gone gone);
  void synced(const Feed& feed);
  void begin_when_told();
  [[nodiscard]] bool all_told() const;
  [[nodiscard]] bool release_told() const;
  void begin();
  [[nodiscard]] std::unique_ptr<Feed> public_slices(std::string_view labels);
  void changed();
  void flush();

  boost::asio::io_context& io_;
  const Clock& clock_;
  const log::Logger& log_;
  std::unique_ptr<kube::Client> client_;
  ClusterSpec spec_;
  model::Listener& listener_;
  ScalerDoors& doors_;
  std::mt19937_64 random_;
  ClusterView view_;
  ReplicaSlices autoscalers_;
  Replicas on_autoscalers_;
  std::vector<std::unique_ptr<Feed>> needed_;  // a start waits for these
  kube::GroupPresence knative_presence_;
  KnativeRelease knative_release_;
  std::unique_ptr<Feed> knative_;                      // its revisions, once it is installed
  std::vector<std::unique_ptr<Feed>> knative_places_;  // then
  boost::asio::steady_timer patience_;
  Begun begun_;
  bool begun_once_ = false;
  bool flushing_ = false;
  Lifetime alive_;
};

}  // namespace sluice::activator
