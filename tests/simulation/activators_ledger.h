#pragma once

#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::simulation {

/// How a request ended for its client.
enum class Ending : std::uint8_t {
  answered,  ///< by the application, in full
  refused,   ///< explicitly, with a reason
  cut,       ///< visibly, together with the pod it was on
  left,      ///< the client went first
};

/// The documented reasons of a refusal (activator.md 14.3, 14.5, protocols.md 7).
enum class Reason : std::uint8_t {
  none,
  queue_full,    ///< of the revision, at the activator
  queues_full,   ///< of all revisions there
  queue_wait,    ///< waited too long, or would have to
  timeout,       ///< the revision's own, while a pod had it
  cannot_scale,  ///< nothing runs and nothing may
  pod_full,      ///< the sidecar's queue; no retry was left or allowed
  pod_draining,  ///< likewise
  unreachable,   ///< no pod could be connected to
};

[[nodiscard]] std::string_view name(Reason reason);

/// Books every request and names the first rule that is broken: it ends exactly once, is begun at
/// most once, an application is never above its limit, a revision's requests are served first come
/// first served, and no request waits while a pod has room. It gets what happens and reads nothing
/// of how the cores decide.
class Ledger {
 public:
  using Request = std::uint64_t;
  using Door = std::uint32_t;  ///< one revision at one run of one activator
  using Pod = std::uint64_t;

  /// Pods that one request may be sent to, at most (activator.md 14.5).
  static constexpr int kAttemptsMax = 3;

  /// `limit`: requests at once on a pod of this door's revision; 0 for none. `depth`: how many may
  /// wait.
  Door open_door(std::int32_t limit, std::int32_t depth);

  /// A request came in.
  Request arrived(Door door);

  /// It waits from now on.
  void waits(Request request);

  /// It is sent to the pod at `dest`.
  void admitted(Request request, const std::string& dest);

  /// A body byte went to the pod that has it.
  void body_sent(Request request);

  /// The pod had no room for it; the door leaves the pod alone until `until` by its clock, or until
  /// another request on it ends.
  void full(Request request, TimePoint until) { book_[request].pause = until; }

  /// The pod gave it back untouched, and has room for another one.
  void returned(Request request);

  /// A request that a pod refused is tried again, but not there, unless the pod was only full.
  void retried(Request request, bool there_too = false);

  /// A pod that was doubted serves: those who tried it may be sent there again.
  void trusted(Door door, const std::string& dest) { forget_tried(doors_[door], {dest}); }

  /// An application begins with it, and is done with it, whether it was finished or stopped.
  void began(Request request, Pod pod, std::int32_t limit);
  void done(Request request, Pod pod, bool finished);

  /// The pod that has it was killed.
  void killed(Request request) { book_[request].killed = true; }

  void ended(Request request, Ending ending, Reason reason = Reason::none);

  /// A pod as a door lists it for new requests.
  struct Listed {
    std::string dest;
    bool avoid = false;
  };

  /// The pods of a door from now on.
  void list(Door door, const std::vector<Listed>& pods);

  /// So many may wait at a door from now on; `hopeless`: nothing runs and nothing may, so a request
  /// that would wait is refused.
  void set_depth(Door door, std::int32_t depth, bool hopeless);

  /// The clock of a door is ahead of true time by so much from now on.
  void set_clock(Door door, Duration ahead) { doors_[door].ahead = ahead; }

  /// Looks for a request that waits although a pod of its door has room. True time.
  void check_room(TimePoint now);

  /// At the end of everything: no request is left.
  void check_closed();

  [[nodiscard]] std::size_t waiting(Door door) const { return doors_[door].waiting.size(); }

  /// Whether as many wait as may.
  [[nodiscard]] bool at_depth(Door door) const {
    return doors_[door].waiting.size() >= static_cast<std::size_t>(doors_[door].depth);
  }

  /// The first rule that was broken; empty: none.
  [[nodiscard]] const std::string& breach() const { return breach_; }

  struct Counts {
    std::uint64_t sent = 0;
    std::uint64_t answered = 0;
    std::uint64_t cut = 0;
    std::uint64_t left = 0;
    std::uint64_t retried = 0;
    std::uint64_t waited = 0;
    std::map<Reason, std::uint64_t> refused = {};

    [[nodiscard]] std::uint64_t refusals() const;
  };

  [[nodiscard]] const Counts& counts() const { return counts_; }

  [[nodiscard]] std::uint64_t open() const { return open_; }

 private:
  // Retries before new requests, each kind in the order it came.
  using Place = std::pair<bool, std::uint64_t>;

  struct Entry {
    Door door = 0;
    std::vector<std::string> tried = {};
    std::string dest = {};       // empty while no pod has it
    std::string came_from = {};  // the pod that gave it back; empty: one that went away since
    bool dest_is_new = false;    // that pod went away and came back meanwhile: another one
    Place place{};
    TimePoint pause{};  // of the pod when it is left
    bool waiting = false;
    bool body_sent = false;
    bool begun = false;
    bool running = false;
    bool finished = false;
    bool killed = false;
    bool ended = false;
  };

  struct PodBook {
    bool listed = false;
    bool avoid = false;
    std::int32_t load = 0;
    TimePoint paused_until{};
  };

  struct DoorBook {
    std::int32_t limit = 0;
    std::int32_t depth = 0;
    bool hopeless = false;
    Duration ahead{0};
    std::map<std::string, PodBook> pods = {};
    bool all_avoided = false;
    std::map<Place, Request> waiting = {};
    std::set<Request> open = {};
  };

  void breach(Request request, std::string_view what);
  void stop_waiting(Entry& entry);
  void leave(Entry& entry);
  void forget_tried(const DoorBook& door, const std::set<std::string>& back);
  [[nodiscard]] static bool has_tried(const Entry& entry, const std::string& dest);
  [[nodiscard]] bool has_room(const DoorBook& door, const PodBook& pod, TimePoint now) const;
  void check_ending(Request request, Ending ending, Reason reason);

  std::vector<DoorBook> doors_;
  std::vector<Entry> book_;
  std::map<Pod, std::int32_t> running_;
  std::uint64_t places_ = 0;
  std::uint64_t open_ = 0;
  Counts counts_;
  std::string breach_;
};

}  // namespace sluice::simulation
