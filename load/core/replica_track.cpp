#include "load/core/replica_track.h"

#include <algorithm>
#include <cmath>

namespace sluice::loadgen {

void ReplicaTrack::begin() {
  points_.clear();
  cold_starts_.clear();
  cold_start_times_ = Histogram{};
  panics_.clear();
  decisions_.clear();
  if (panicking_) panics_.push_back({});
  note(Duration::zero());
  scaling_.set({}, Scaling::ready, static_cast<double>(ready_.size()));
  scaling_.set({}, Scaling::draining, static_cast<double>(draining_.size()));
  scaling_.begin();
}

void ReplicaTrack::replica(Duration at, std::string_view id, bool ready) {
  if (ready && ready_.size() < kReplicasMax) ready_.emplace(id);
  const auto found = ready_.find(id);
  if (!ready && found != ready_.end()) ready_.erase(found);
  note(at);
  scaling_.set(at, Scaling::ready, static_cast<double>(ready_.size()));
}

void ReplicaTrack::counted(Duration at, std::size_t ready) {
  const std::size_t count = std::min(ready, kReplicasMax);
  if (replicas_told_ || count == ready_.size()) return;
  ready_.clear();
  for (std::size_t i = 0; i < count; ++i) ready_.insert(std::to_string(i));
  note(at);
  scaling_.set(at, Scaling::ready, static_cast<double>(count));
}

void ReplicaTrack::drain(Duration at, std::string_view id, bool draining) {
  if (draining && draining_.size() < kReplicasMax) draining_.emplace(id);
  const auto found = draining_.find(id);
  if (!draining && found != draining_.end()) draining_.erase(found);
  scaling_.set(at, Scaling::draining, static_cast<double>(draining_.size()));
}

void ReplicaTrack::note(Duration at) {
  const Point point{std::max(at, Duration::zero()), ready_.size()};
  if (!points_.empty() && points_.back().ready == point.ready) return;
  if (points_.size() < kPointsMax) points_.push_back(point);
}

void ReplicaTrack::cold_start(Duration at, Duration total, std::string_view replica,
                              std::vector<std::pair<std::string, double>> phases_ms) {
  cold_start_times_.record(total);
  if (cold_starts_.size() == kPointsMax) return;
  cold_starts_.push_back({std::max(at, Duration::zero()), total, std::string{replica},
                          std::move(phases_ms), service_});
}

void ReplicaTrack::decision(Duration at, bool panic) {
  const Duration now = std::max(at, Duration::zero());
  if (panicking_) panics_.back().to = now;
  if (panic && !panicking_ && panics_.size() < kPointsMax) panics_.push_back({now, now});
  panicking_ = panic && !panics_.empty();
}

void ReplicaTrack::desire(Duration at, double desired, std::string_view why) {
  const double known = scaling_.now(Scaling::desired);
  const double from = std::isnan(known) ? static_cast<double>(ready_.size()) : known;
  const bool changes = from != desired || decided_in_panic_ != panicking_;
  decided_in_panic_ = panicking_;
  scaling_.set(at, Scaling::desired, desired);
  if (!changes || decisions_.size() == kPointsMax) return;
  decisions_.push_back({std::max(at, Duration::zero()), from, desired, panicking_,
                        std::string{why.substr(0, kWhyBytesMax)}, service_});
}

void ReplicaTrack::finish(Duration at) {
  if (panicking_) panics_.back().to = std::max(at, panics_.back().from);
}

ReplicaTrack ReplicaTrack::merged(std::span<const ReplicaTrack> tracks) {
  struct Step {
    Duration at;
    std::size_t before;
    std::size_t after;
  };

  ReplicaTrack out;
  std::vector<Step> steps;
  std::set<std::string, std::less<>> services;
  std::vector<const ScalingRows*> scaling;
  for (const ReplicaTrack& track : tracks) {
    if (!track.joined() || !services.insert(track.service_).second) continue;
    out.service_ += (out.joined() ? ", " : "") + track.service_;
    std::size_t before = 0;
    for (const Point& point : track.points_) {
      steps.push_back({point.at, before, point.ready});
      before = point.ready;
    }
    out.ready_.insert(track.ready_.begin(), track.ready_.end());
    out.cold_start_times_.add(track.cold_start_times_);
    out.cold_starts_.insert(out.cold_starts_.end(), track.cold_starts_.begin(),
                            track.cold_starts_.end());
    out.panics_.insert(out.panics_.end(), track.panics_.begin(), track.panics_.end());
    out.decisions_.insert(out.decisions_.end(), track.decisions_.begin(), track.decisions_.end());
    scaling.push_back(&track.scaling_);
  }
  const auto earlier = [](const auto& a, const auto& b) { return a.at < b.at; };
  std::stable_sort(steps.begin(), steps.end(), earlier);
  if (!scaling.empty()) out.scaling_ = ScalingRows::merged(scaling);
  std::stable_sort(out.decisions_.begin(), out.decisions_.end(), earlier);
  std::stable_sort(out.cold_starts_.begin(), out.cold_starts_.end(), earlier);
  std::stable_sort(out.panics_.begin(), out.panics_.end(),
                   [](const Panic& a, const Panic& b) { return a.from < b.from; });
  std::size_t ready = 0;
  for (const Step& step : steps) {
    ready = ready - step.before + step.after;
    // Of changes at one moment the last says how many there are.
    if (!out.points_.empty() && out.points_.back().at == step.at) out.points_.pop_back();
    out.points_.push_back({step.at, ready});
  }
  return out;
}

std::size_t ReplicaTrack::ready_max() const {
  std::size_t most = 0;
  for (const Point& point : points_) most = std::max(most, point.ready);
  return most;
}

std::size_t ReplicaTrack::ready_at(Duration at) const {
  std::size_t ready = points_.empty() ? 0 : points_.front().ready;
  for (const Point& point : points_) {
    if (point.at <= at) ready = point.ready;
  }
  return ready;
}

double ReplicaTrack::replica_seconds(Duration until) const {
  double sum = 0;
  for (std::size_t i = 0; i < points_.size() && points_[i].at < until; ++i) {
    const Duration end = i + 1 < points_.size() ? std::min(points_[i + 1].at, until) : until;
    sum += static_cast<double>(points_[i].ready) * to_seconds(end - points_[i].at);
  }
  return sum;
}

std::optional<Duration> ReplicaTrack::time_to_zero(Duration quiet) const {
  if (points_.empty() || points_.back().ready != 0) return std::nullopt;
  return std::max(points_.back().at - quiet, Duration::zero());
}

}  // namespace sluice::loadgen
