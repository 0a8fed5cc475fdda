// A revision while its replicas are moved between two places, and in which order they would go.

#include "autoscaler/io/revision.h"

#include <algorithm>
#include <utility>

namespace sluice::autoscaler {

std::vector<RemovalCandidate> Revision::candidates() const {
  std::vector<RemovalCandidate> all;
  all.reserve(pods_.size());
  for (const PodFacts& pod : pods_) {
    all.push_back({.id = pod.watched.id,
                   .ready = pod.watched.ready,
                   .throttled = throttled(pod),
                   .terminating = pod.watched.terminating,
                   .failed = !pod.watched.failed.empty(),
                   .place = pod.watched.node,
                   .load = around_.load_now
                               ? std::optional{around_.load_now(facts_.id, pod.watched.id)}
                               : pod.load});
  }
  return all;
}

placement::MoveView Revision::move_view(const std::string& from, const std::string& to) const {
  const TimePoint now = around_.clock.now();
  const std::vector<RemovalCandidate> all = candidates();
  placement::MoveView view{.wanted = want()};
  if (facts_.failed_starts > failed_before_move_) view.start_failure = facts_.growth_failure;
  std::vector<const RemovalCandidate*> order;
  order.reserve(all.size());
  for (const RemovalCandidate& each : all) order.push_back(&each);
  Removals::sort(order);
  for (const RemovalCandidate* each : order) {
    const bool at_from = each->place == from;
    if (!at_from && each->place != to) {
      if (!each->terminating) --view.wanted;
      continue;
    }
    const auto avoided = avoided_from_.find(each->id);
    placement::ReplicaView replica{.id = each->id,
                                   .ready = each->ready,
                                   .reached = each->ready,
                                   .failed = each->failed,
                                   .stopping = each->terminating,
                                   .in_flight = static_cast<std::int64_t>(each->load.value_or(0))};
    if (around_.moved_now) replica.progress = around_.moved_now(facts_.id, each->id);
    replica.avoided =
        avoided != avoided_from_.end() && around_.hub.applied(facts_.id, avoided->second, now);
    (at_from ? view.from : view.to).replicas.push_back(std::move(replica));
  }
  view.wanted = std::max(0, view.wanted);
  return view;
}

std::int64_t Revision::requests_now() const {
  double requests = 0;
  for (const RemovalCandidate& each : candidates()) requests += each.load.value_or(0);
  return static_cast<std::int64_t>(requests);
}

void Revision::set_move(std::optional<MoveOrder> order) {
  if (!move_) failed_before_move_ = facts_.failed_starts;
  move_ = std::move(order);
  if (!move_) avoided_from_.clear();
  publish();
}

// Of each pod that a move avoids: the version that brought it to the activators first.
void Revision::note_avoided(std::uint64_t version) {
  if (!move_) return;
  const auto& avoid = move_->orders.avoid;
  std::erase_if(avoided_from_, [&avoid](const auto& each) {
    return std::find(avoid.begin(), avoid.end(), each.first) == avoid.end();
  });
  for (const PodId& pod : avoid) avoided_from_.try_emplace(pod, version);
}

std::vector<placement::PlaceShare> Revision::ordered_places() const {
  if (!move_) return places_;
  std::vector<placement::PlaceShare> places;
  for (const placement::PlaceShare& share : places_) {
    if (share.place != move_->from && share.place != move_->to) places.push_back(share);
  }
  places.push_back({move_->to, move_->orders.to});
  places.push_back({move_->from, move_->orders.from});
  std::erase_if(places, [](const placement::PlaceShare& share) { return share.replicas == 0; });
  return places;
}

// A move that is stuck holds nothing up: another template may be what mends it.
bool Revision::shifting() const {
  return move_ && move_->state >= placement::MoveState::shifting &&
         move_->state < placement::MoveState::done;
}

std::vector<PodId> Revision::removable() const {
  std::vector<PodId> pods = removals_.released();
  if (!move_) return pods;
  for (const PodId& pod : move_->orders.stop) {
    if (std::find(pods.begin(), pods.end(), pod) == pods.end()) pods.push_back(pod);
  }
  return pods;
}

}  // namespace sluice::autoscaler
