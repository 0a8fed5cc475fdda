#include "autoscaler/io/scale_loop.h"

#include "common/base/check.h"

#include <utility>

namespace sluice::autoscaler {

std::optional<ScalerHandle> ScaleLoop::add(const RevisionId& id, RevisionScalerSpec spec,
                                           std::int32_t ready, ScaledRevision& revision) {
  const auto handle = scalers_.add(id, std::move(spec), ready, time_.now());
  if (!handle) return std::nullopt;
  if (revisions_.size() <= handle->index) revisions_.resize(handle->index + std::size_t{1});
  revisions_[handle->index] = &revision;
  arm();
  return handle;
}

std::unique_ptr<RevisionScaler> ScaleLoop::remove(ScalerHandle handle) {
  return scalers_.remove(handle);
}

RevisionScaler& ScaleLoop::scaler(ScalerHandle handle) const {
  RevisionScaler* const scaler = scalers_.scaler(handle);
  CHECK(scaler != nullptr);
  return *scaler;
}

void ScaleLoop::push(const RevisionId& revision, const Stat& stat, std::optional<TimePoint> stamp,
                     StatDoor door, std::optional<Duration> newest) {
  const auto wanted = scalers_.push(revision, stat, stamp, door, time_.now(), newest);
  if (wanted) revisions_[wanted->index]->on_wanted();
}

void ScaleLoop::arm() {
  const auto next = scalers_.next_due();
  if (!next) return;
  timer_->at(*next, [this] { run_due(); });
}

void ScaleLoop::run_due() {
  scalers_.take_due(time_.now(), due_);
  // A revision that acts may remove others; their handles are stale then.
  for (std::size_t i = 0; i < due_.size(); ++i) {
    const auto [handle, evaluate] = due_[i];
    if (scalers_.scaler(handle) != nullptr) revisions_[handle.index]->on_due(evaluate);
  }
  arm();
}

}  // namespace sluice::autoscaler
