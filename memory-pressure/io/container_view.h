#pragma once

#include "memory-pressure/core/action.h"
#include "memory-pressure/cri/cri.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::node_agent {

/// The running containers of a node: the list is as fresh as the last look, what they use as the
/// last sample.
class ContainerView {
 public:
  /// A watched container no longer runs.
  using Ended = std::function<void(const Container&, const cri::ContainerStatus&)>;

  /// The sandbox of a pod that was watched is no longer ready.
  using PodEnded = std::function<void(const std::string& uid)>;

  virtual ~ContainerView() = default;

  virtual void on_ended(Ended ended) = 0;
  virtual void on_pod_ended(PodEnded ended) = 0;

  /// `born` runs when a container's program was seen to begin: `containers` has it by then.
  virtual void on_born(std::function<void()> born) = 0;

  /// Lists the running containers, unless a list is under way; `done` gets whether the runtime
  /// answered, once all new containers are known as far as possible.
  virtual void look(std::function<void(bool answered)> done) = 0;

  /// Reads what containers use, as often as their number allows. `hurry`: more often.
  virtual void sample(TimePoint now, bool hurry) = 0;

  /// As far as known; running only.
  [[nodiscard]] virtual std::vector<Container> containers() const = 0;

  /// `namespace/pod/container` of one that is known; empty: none such.
  [[nodiscard]] virtual std::string shown(const std::string& id) const = 0;

  /// Whether the last look was answered.
  [[nodiscard]] virtual bool answers() const = 0;

  /// The quota that the kernel enforces on a container now; absent: unreadable. By the runtime's
  /// word where there is no control group to read.
  virtual void read_quota(const std::string& id,
                          std::function<void(std::optional<CpuQuota>)> done) = 0;

  /// Writes what is to be sent into the control group first: the runtime takes up to half a second
  /// under load. Its own update then finds it done.
  virtual void write_first(const Update& /*order*/) {}

  /// Writes to the freezer of a container; `done` may run from within.
  virtual void freeze(const Freeze& order,
                      const std::function<void(Outcome, const std::string& text)>& done) = 0;

  /// Asks the kernel to take cold pages of a container back; false: it cannot.
  virtual bool reclaim(const std::string& id, std::int64_t bytes) = 0;

  /// `v1`, `v2`, `hybrid` or `none`: how control groups are mounted here.
  [[nodiscard]] virtual std::string_view cgroups() const = 0;
};

}  // namespace sluice::node_agent
