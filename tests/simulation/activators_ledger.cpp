#include "tests/simulation/activators_ledger.h"

#include <algorithm>
#include <utility>

namespace sluice::simulation {

std::string_view name(Reason reason) {
  switch (reason) {
    case Reason::none:
      return "none";
    case Reason::queue_full:
      return "queue-full";
    case Reason::queues_full:
      return "queue-full of all";
    case Reason::queue_wait:
      return "queue-wait";
    case Reason::timeout:
      return "timeout";
    case Reason::cannot_scale:
      return "cannot-scale";
    case Reason::pod_full:
      return "pod queue-full";
    case Reason::pod_draining:
      return "pod draining";
    case Reason::unreachable:
      return "upstream";
  }
  return "";
}

std::uint64_t Ledger::Counts::refusals() const {
  std::uint64_t sum = 0;
  for (const auto& [reason, count] : refused) sum += count;
  return sum;
}

Ledger::Door Ledger::open_door(std::int32_t limit, std::int32_t depth) {
  doors_.push_back({.limit = limit, .depth = depth});
  return static_cast<Door>(doors_.size() - 1);
}

Ledger::Request Ledger::arrived(Door door) {
  const Request request = book_.size();
  book_.push_back({.door = door, .place = {true, places_++}});
  doors_[door].open.insert(request);
  ++counts_.sent;
  ++open_;
  return request;
}

void Ledger::waits(Request request) {
  Entry& entry = book_[request];
  if (entry.ended) breach(request, "waits after its end");
  if (entry.waiting || !entry.dest.empty()) breach(request, "waits in two places");
  entry.waiting = true;
  doors_[entry.door].waiting.emplace(entry.place, request);
  ++counts_.waited;
}

void Ledger::admitted(Request request, const std::string& dest) {
  Entry& entry = book_[request];
  DoorBook& door = doors_[entry.door];
  if (entry.ended) breach(request, "is sent on after its end");
  if (!entry.dest.empty()) breach(request, "is sent to two pods");
  stop_waiting(entry);
  for (const auto& [place, other] : door.waiting) {
    if (!(place < entry.place)) break;
    if (!has_tried(book_[other], dest)) breach(request, "overtakes one who waits");
  }
  PodBook& pod = door.pods[dest];
  if (!pod.listed) breach(request, "is sent to a pod that is not listed");
  if (pod.avoid && !door.all_avoided) breach(request, "is sent to a pod to be avoided");
  if (has_tried(entry, dest)) breach(request, "is sent to a pod that it tried");
  ++pod.load;
  if (door.limit > 0 && pod.load > door.limit) {
    breach(request, "is one more than the door may send to a pod");
  }
  entry.dest = dest;
  entry.dest_is_new = false;
  entry.body_sent = false;
}

void Ledger::body_sent(Request request) {
  book_[request].body_sent = true;
}

void Ledger::returned(Request request) {
  Entry& entry = book_[request];
  entry.came_from = entry.dest_is_new ? "" : entry.dest;
  leave(entry);
}

void Ledger::retried(Request request, bool there_too) {
  Entry& entry = book_[request];
  if (!entry.dest.empty()) returned(request);
  ++counts_.retried;
  if (entry.ended) breach(request, "is tried again after its end");
  if (entry.begun) breach(request, "is tried again though an application may have begun it");
  if (entry.body_sent) breach(request, "is tried again with a body byte gone");
  entry.tried.push_back(there_too ? "" : entry.came_from);
  if (entry.tried.size() >= static_cast<std::size_t>(kAttemptsMax)) {
    breach(request, "is tried again too often");
  }
  entry.place = {false, places_++};
}

void Ledger::began(Request request, Pod pod, std::int32_t limit) {
  Entry& entry = book_[request];
  if (entry.begun) breach(request, "is begun twice");
  entry.begun = true;
  entry.running = true;
  const std::int32_t running = ++running_[pod];
  if (limit > 0 && running > limit) breach(request, "exceeds containerConcurrency");
}

void Ledger::done(Request request, Pod pod, bool finished) {
  Entry& entry = book_[request];
  if (!entry.running) breach(request, "stops without running");
  entry.running = false;
  entry.finished = finished;
  if (--running_[pod] == 0) running_.erase(pod);
}

void Ledger::ended(Request request, Ending ending, Reason reason) {
  Entry& entry = book_[request];
  if (entry.ended) return breach(request, "ends twice");
  check_ending(request, ending, reason);
  stop_waiting(entry);
  if (!entry.dest.empty()) leave(entry);
  entry.ended = true;
  doors_[entry.door].open.erase(request);
  --open_;
  switch (ending) {
    case Ending::answered:
      ++counts_.answered;
      break;
    case Ending::refused:
      ++counts_.refused[reason];
      break;
    case Ending::cut:
      ++counts_.cut;
      break;
    case Ending::left:
      ++counts_.left;
      break;
  }
}

void Ledger::check_ending(Request request, Ending ending, Reason reason) {
  const Entry& entry = book_[request];
  const DoorBook& door = doors_[entry.door];
  if (ending == Ending::answered && !entry.finished) breach(request, "is answered without a pod");
  if (ending == Ending::cut && !entry.killed) breach(request, "is cut and no pod was killed");
  if (ending != Ending::refused) return;
  if (reason == Reason::none) breach(request, "is refused without a reason");
  if (entry.begun && reason != Reason::timeout) breach(request, "is begun and refused");
  const bool by_pod =
      reason == Reason::pod_full || reason == Reason::pod_draining || reason == Reason::unreachable;
  if (by_pod) {
    const bool last = entry.tried.size() + 1 >= static_cast<std::size_t>(kAttemptsMax);
    // A full pod is not waited for: its own queue was waited in already.
    const auto listed = static_cast<std::size_t>(std::count_if(
        door.pods.begin(), door.pods.end(), [](const auto& pod) { return pod.second.listed; }));
    const bool only_one = reason == Reason::pod_full && listed <= entry.tried.size() + 1;
    if (!last && !entry.body_sent && !only_one) breach(request, "is refused with retries left");
  }
  if (reason == Reason::cannot_scale && !door.hopeless) {
    breach(request, "is refused although pods may be had");
  }
  if (reason == Reason::queue_full && door.waiting.size() < static_cast<std::size_t>(door.depth)) {
    breach(request, "is refused with room to wait");
  }
}

void Ledger::set_depth(Door door, std::int32_t depth, bool hopeless) {
  doors_[door].depth = depth;
  doors_[door].hopeless = hopeless;
}

void Ledger::list(Door index, const std::vector<Listed>& pods) {
  DoorBook& door = doors_[index];
  std::set<std::string> back;
  for (auto& [dest, pod] : door.pods) pod.avoid = false;
  std::set<std::string> listed;
  for (const Listed& one : pods) {
    PodBook& pod = door.pods[one.dest];
    if (!std::exchange(pod.listed, true)) back.insert(one.dest);
    pod.avoid = one.avoid;
    listed.insert(one.dest);
  }
  for (auto& [dest, pod] : door.pods) {
    if (listed.contains(dest)) continue;
    pod.listed = false;
    pod.paused_until = {};
  }
  door.all_avoided =
      std::all_of(pods.begin(), pods.end(), [](const Listed& one) { return one.avoid; });
  std::erase_if(door.pods,
                [](const auto& pod) { return !pod.second.listed && pod.second.load == 0; });
  if (!back.empty()) forget_tried(door, back);
}

// A pod that went and came back is another one to those who tried it; attempts still count.
void Ledger::forget_tried(const DoorBook& door, const std::set<std::string>& back) {
  for (const Request request : door.open) {
    Entry& entry = book_[request];
    if (back.contains(entry.dest)) entry.dest_is_new = true;
    if (back.contains(entry.came_from)) entry.came_from.clear();
    for (std::string& dest : entry.tried) {
      if (back.contains(dest)) dest.clear();
    }
  }
}

void Ledger::check_room(TimePoint now) {
  for (const DoorBook& door : doors_) {
    if (door.waiting.empty()) continue;
    for (const auto& [dest, pod] : door.pods) {
      if (!has_room(door, pod, now)) continue;
      for (const auto& [place, request] : door.waiting) {
        if (!has_tried(book_[request], dest)) {
          return breach(request, "waits while a pod has room");
        }
      }
    }
  }
}

void Ledger::check_closed() {
  for (Request request = 0; request < book_.size(); ++request) {
    if (!book_[request].ended) breach(request, "never ends");
    if (book_[request].running) breach(request, "runs without an end");
  }
}

bool Ledger::has_room(const DoorBook& door, const PodBook& pod, TimePoint now) const {
  // An alarm may ring a moment after its time.
  const bool paused = pod.paused_until + std::chrono::milliseconds{1} > now + door.ahead;
  return pod.listed && (!pod.avoid || door.all_avoided) && !paused &&
         (door.limit == 0 || pod.load < door.limit);
}

bool Ledger::has_tried(const Entry& entry, const std::string& dest) {
  return std::find(entry.tried.begin(), entry.tried.end(), dest) != entry.tried.end();
}

void Ledger::stop_waiting(Entry& entry) {
  if (std::exchange(entry.waiting, false)) doors_[entry.door].waiting.erase(entry.place);
}

void Ledger::leave(Entry& entry) {
  PodBook& pod = doors_[entry.door].pods[entry.dest];
  --pod.load;
  pod.paused_until = std::exchange(entry.pause, TimePoint{});
  entry.dest.clear();
}

void Ledger::breach(Request request, std::string_view what) {
  if (!breach_.empty()) return;
  breach_ = "request " + std::to_string(request) + " " + std::string(what);
}

}  // namespace sluice::simulation
