#pragma once

#include "common/base/lifetime.h"
#include "common/time/clock.h"

#include "memory-pressure/io/birth_watch.h"
#include "memory-pressure/io/cgroup_files.h"
#include "memory-pressure/io/cgroup_mounts.h"
#include "memory-pressure/io/container_view.h"
#include "memory-pressure/io/cri_client.h"
#include "memory-pressure/io/freezer.h"
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sluice::node_agent {

/// The running containers of this node: their names from CRI, their use from their control groups,
/// which cost the runtime nothing. Where a control group cannot be read, the runtime's figures do.
/// Used on the io thread.
class ContainerWatch final : public ContainerView {
 public:
  struct Options {
    std::string root{};  ///< of /proc; tests only
  };

  /// `client` and `clock` outlive this.
  ContainerWatch(CriClient& client, const Clock& clock, Options options);

  void on_ended(Ended ended) override { ended_ = std::move(ended); }

  void on_pod_ended(PodEnded ended) override { pod_ended_ = std::move(ended); }

  void on_born(std::function<void()> born) override { born_ = std::move(born); }

  /// The runtime makes this container, or sandbox: what it is is asked now, so that it is known
  /// when the program begins.
  void expect(const std::string& id);

  /// The same, where its pod is known already and need not be asked for.
  void expect(const std::string& id, const cri::Sandbox& pod) {
    const bool has_room = sandboxes_.size() < cri::kEntriesMax;
    if (!pod.id.empty() && has_room) sandboxes_.try_emplace(pod.id, pod);
    expect(id);
  }

  /// Containers whose programs have begun, as BirthWatch saw it. Each is in containers() from now
  /// on: with what its control group says at once, described when the runtime has answered.
  void born(const std::vector<Birth>& births);

  /// A running container, or a pod's sandbox, of this name has been seen.
  [[nodiscard]] bool knows(const std::string& id) const {
    return known_.contains(id) || sandboxes_.contains(id);
  }

  /// `placed` gets the control group of each container that the runtime lists, once.
  void on_placed(std::function<void(const std::string& group)> placed) {
    placed_ = std::move(placed);
  }

  void look(std::function<void(bool answered)> done) override;

  /// All of them at most once per `interval(...)`.
  void sample(TimePoint now, bool hurry) override;

  [[nodiscard]] std::vector<Container> containers() const override;
  [[nodiscard]] std::string shown(const std::string& id) const override;

  [[nodiscard]] bool answers() const override { return answers_; }

  void read_quota(const std::string& id,
                  std::function<void(std::optional<CpuQuota>)> done) override;
  void freeze(const Freeze& order,
              const std::function<void(Outcome, const std::string& text)>& done) override;
  bool reclaim(const std::string& id, std::int64_t bytes) override;

  void write_first(const Update& order) override;

  [[nodiscard]] const CgroupMounts& mounts() const { return mounts_; }

  [[nodiscard]] std::string_view cgroups() const override { return mounts_.kind(); }

  /// The pause between two samples of all of `count` containers; in a hurry a tenth of it.
  [[nodiscard]] static Duration interval(std::size_t count, bool hurry);

 private:
  struct Known {
    cri::Container told;
    std::optional<cri::Resources> resources;
    std::unique_ptr<CgroupFiles> files;
    std::string cgroup;      // its path where memory is accounted
    bool described = false;  // its status has been read
    bool marked = false;     // and its pod's word about throttling
    bool placed = false;     // whose pod has been seen
    bool asked = false;
    bool doubted = false;  // whether it was frozen before we saw it has been asked
    bool paused = false;   // by another program, through the runtime
    bool listed = false;   // by the runtime, as running
    int misses = 0;        // answers that it does not exist, although it is listed
    Container seen;
  };

  struct Unborn {
    TimePoint since;                           // its group was seen
    std::optional<cri::ContainerStatus> told;  // absent: not answered yet
  };

  using Listed = std::vector<cri::Container>;

  void describe_newborn(const std::string& id);
  void ask_about_newborn(const std::string& id);
  void newborn_described(const std::string& id,
                         const Result<cri::ContainerStatus, CallFailure>& status);
  [[nodiscard]] bool ask_who_froze();
  void place_newborn();
  [[nodiscard]] std::optional<CgroupPaths> paths_of(const Birth& birth) const;
  void tell_born();
  [[nodiscard]] static bool is_newborn(const Known& known);
  void place(Known& known, const CgroupPaths& paths);
  void fill(Known& known, const cri::ContainerStatus& status);
  void listed(Listed list);
  void look_at_sandboxes();
  void take_sandboxes(std::vector<cri::Sandbox> list);
  void describe_new();
  void described(const std::string& id, const Result<cri::ContainerStatus, CallFailure>& status);
  void take_stats();
  void one_answered();
  void finish(bool answered);
  void forget(std::map<std::string, Known>::iterator at);
  void mark_all();
  void measure(Known& known, TimePoint now);
  void measure_bounds(Known& known);
  void measure_some_bounds();

  CriClient& client_;   // of App
  const Clock& clock_;  // of App
  std::string root_;
  CgroupMounts mounts_;
  Freezer freezer_;
  std::string own_cgroup_;
  Ended ended_;
  PodEnded pod_ended_;
  std::function<void()> born_;
  std::function<void(const std::string& group)> placed_;
  std::map<std::string, Known> known_;
  std::map<std::string, Unborn> unborn_;
  std::map<std::string, cri::Sandbox> sandboxes_;
  std::optional<TimePoint> sandboxes_at_;
  std::deque<std::string> to_describe_;
  std::size_t pending_ = 0;  // calls of this look
  bool stats_asked_ = false;
  std::size_t bounds_turn_ = 0;
  bool looking_ = false;
  bool placing_ = false;
  bool answers_ = false;
  std::optional<TimePoint> sampled_at_;
  std::vector<std::function<void(bool)>> waiting_;
  Lifetime alive_;
};

/// The sandbox's id in a runtime's verbose description of a container; empty: none in it.
[[nodiscard]] std::string sandbox_in(const std::string& info);

/// The process id in a runtime's verbose description of a container; absent: none in it.
[[nodiscard]] std::optional<pid_t> pid_in(const std::string& info);

}  // namespace sluice::node_agent
