#pragma once

#include "activator/core/pod_line.h"
#include "activator/core/wait_queue.h"
#include "common/base/check.h"
#include "common/base/ids.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sluice::activator {

/// A pod that may take requests.
struct PodState {
  PodId id;
  bool avoid = false;  ///< takes new requests only while every pod is to be avoided
  /// Requests at once on this one, where it differs from the spec's: a cluster IP is that of many
  /// pods (shared_capacity). 0 means the spec's.
  std::int32_t capacity = 0;
};

/// The pods of one revision: their order, what runs on each, and which may take one more. Those to
/// be avoided are in a line of their own, which is the one in use only while no other pod is
/// listed. A pod that is unlisted stays known, and charged, until what runs on it has ended.
class PodRoster {
 public:
  /// `draws`: whether pods will be chosen at random (PodLine::any_open).
  explicit PodRoster(bool draws) : preferred_(draws), draws_(draws) {}

  /// Lists `pod` or changes what is said of it; `limit` (0: none) is its requests at once. One that
  /// was unlisted and comes back counts as a new pod for requests that tried it, and is still
  /// charged with what runs.
  void list(const PodState& pod, std::uint32_t limit);

  /// Removes `id` from the list. False if it was not listed.
  bool unlist(const PodId& id);

  /// Requests that tried `id` may use it again; what runs on it, and its pause, stay. False if it
  /// is not listed.
  bool renew(const PodId& id);

  /// One more request on the pod at `slot`, which is open.
  PodRef charge(std::uint32_t slot) {
    Pod& pod = pods_[slot];
    CHECK(pod.listed && (pod.limit == 0 || pod.load < pod.limit));
    ++pod.load;
    ++in_flight_;
    refresh(slot);
    return {.slot = slot, .generation = pod.generation};
  }

  /// One request less on the pod of `ref`. Returns the slot when the pod is still listed. Ending
  /// more than has begun is a broken invariant.
  std::optional<std::uint32_t> discharge(PodRef ref) {
    Pod& pod = checked(ref);
    CHECK(pod.load > 0);
    --pod.load;
    --in_flight_;
    if (pod.listed) {
      refresh(ref.slot);
      return ref.slot;
    }
    if (pod.load == 0) {
      release_slot(ref.slot);
    }
    return std::nullopt;
  }

  /// Lets `pod` take nothing until `until`, or until resume(pod.slot). Nothing if it is listed no
  /// more or has come back since.
  void pause(PodRef pod, TimePoint until);

  /// Ends the pause of the pod at `slot`, which is listed, if it is paused.
  void resume(std::uint32_t slot) {
    if (pods_[slot].paused) {
      end_pause(slot);
      refresh(slot);
    }
  }

  /// Ends the pauses that are over at `now`.
  void resume_due(TimePoint now);

  /// When the first pause is over; nothing when no pod is paused.
  [[nodiscard]] std::optional<TimePoint> next_resume() const;

  /// Whether `pod` may take a request now. False for one that came back since.
  [[nodiscard]] bool offers(PodRef pod) const;

  /// Takes `pod`, which is open, out of the choice, and puts it back.
  void hide(PodRef pod) { line().close(pod.slot); }

  void show(PodRef pod) { line().open(pod.slot, pods_[pod.slot].load); }

  /// The line to choose from.
  [[nodiscard]] PodLine& line() {
    return preferred_.size() > 0 || !avoided_ ? preferred_ : *avoided_;
  }

  [[nodiscard]] const PodLine& line() const {
    return preferred_.size() > 0 || !avoided_ ? preferred_ : *avoided_;
  }

  /// Pods that may take a request now.
  [[nodiscard]] std::size_t open() const { return line().open_count(); }

  [[nodiscard]] std::uint32_t load_at(std::uint32_t slot) const { return pods_[slot].load; }

  [[nodiscard]] std::uint32_t load(PodRef pod) const { return checked(pod).load; }

  [[nodiscard]] const PodId& id(PodRef pod) const {
    (void)checked(pod);
    return ids_[pod.slot];
  }

  /// Calls `visit(id)` for each listed pod, in no order that means anything. It must not change the
  /// roster.
  template <class Visit>
  void each_listed(Visit visit) const {
    for (std::size_t slot = 0; slot < pods_.size(); ++slot) {
      if (pods_[slot].listed) {
        visit(ids_[slot]);
      }
    }
  }

  /// Listed pods, those to be avoided included.
  [[nodiscard]] std::size_t size() const {
    return preferred_.size() + (avoided_ ? avoided_->size() : 0);
  }

  /// Requests on all pods, including pods that are no longer listed.
  [[nodiscard]] std::int64_t in_flight() const { return in_flight_; }

  /// How many requests the listed pods may carry together; nothing when one has no limit.
  [[nodiscard]] std::optional<std::int64_t> capacity() const;

 private:
  struct Pod {
    std::uint32_t load = 0;
    std::uint32_t limit = 0;       // 0: none
    std::uint32_t generation = 0;  // of what is admitted now
    std::uint32_t oldest = 0;      // generation of what may still run
    std::uint32_t enlisted = 0;    // generation with which it was listed last
    bool used = false;
    bool listed = false;
    bool avoid = false;
    bool paused = false;
    bool open = false;  // marked in its line, unless hidden
    TimePoint paused_until{};
  };

  [[nodiscard]] const Pod& checked(PodRef ref) const {
    CHECK(ref.slot < pods_.size() && pods_[ref.slot].used);
    const Pod& pod = pods_[ref.slot];
    CHECK(pod.oldest <= ref.generation && ref.generation <= pod.generation);
    return pod;
  }

  [[nodiscard]] Pod& checked(PodRef ref) {
    return const_cast<Pod&>(std::as_const(*this).checked(ref));
  }

  // The mark and the load of a listed pod, after a change to either.
  void refresh(std::uint32_t slot) {
    Pod& pod = pods_[slot];
    const bool open = !pod.paused && (pod.limit == 0 || pod.load < pod.limit);
    if (open != pod.open) {
      pod.open = open;
      open ? line_of(pod).open(slot, pod.load) : line_of(pod).close(slot);
    } else if (open) {
      line_of(pod).set_load(slot, pod.load);
    }
  }

  [[nodiscard]] PodLine& line_of(const Pod& pod) { return pod.avoid ? *avoided_ : preferred_; }

  void enlist(std::uint32_t slot);
  void delist(std::uint32_t slot);
  void end_pause(std::uint32_t slot);
  [[nodiscard]] std::uint32_t obtain_slot(const PodId& id);
  void release_slot(std::uint32_t slot);

  std::vector<Pod> pods_;  // by slot
  std::vector<PodId> ids_;
  std::vector<std::uint32_t> free_;
  std::unordered_map<PodId, std::uint32_t> slot_of_;
  std::set<std::pair<TimePoint, std::uint32_t>> paused_;
  PodLine preferred_;
  std::unique_ptr<PodLine> avoided_;  // only once a pod was to be avoided
  std::int64_t in_flight_ = 0;
  std::int64_t limits_ = 0;      // of the listed pods together
  std::uint32_t unlimited_ = 0;  // listed pods without limit
  std::uint32_t generation_ = 0;
  bool draws_;
};

}  // namespace sluice::activator
