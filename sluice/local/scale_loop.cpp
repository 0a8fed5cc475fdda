#include "sluice/local/scale_loop.h"

#include "common/base/check.h"

#include <algorithm>
#include <utility>

namespace sluice::local {

ScaleLoop::ScaleLoop(boost::asio::io_context& io, const Clock& clock) : clock_{clock}, timer_{io} {}

autoscaler::ScalerHandle ScaleLoop::add(const RevisionId& id, autoscaler::RevisionScalerSpec spec,
                                        ScaledRevision& revision) {
  const auto handle = scalers_.add(id, std::move(spec), 0, clock_.now());
  CHECK(handle.has_value());
  if (revisions_.size() <= handle->index) revisions_.resize(handle->index + std::size_t{1});
  revisions_[handle->index] = &revision;
  arm();
  return *handle;
}

std::unique_ptr<autoscaler::RevisionScaler> ScaleLoop::remove(autoscaler::ScalerHandle handle) {
  return scalers_.remove(handle);
}

autoscaler::RevisionScaler& ScaleLoop::scaler(autoscaler::ScalerHandle handle) const {
  autoscaler::RevisionScaler* const scaler = scalers_.scaler(handle);
  CHECK(scaler != nullptr);
  return *scaler;
}

void ScaleLoop::poke(const activator::RevisionStat& stat) {
  push(stat);
}

void ScaleLoop::report(const activator::RevisionStat& stat) {
  const auto handle = scalers_.find(stat.revision);
  if (handle && scaler(*handle).last().told_to_sleep) return;
  push(stat);
}

void ScaleLoop::push(const activator::RevisionStat& stat) {
  const autoscaler::Stat told{.average_concurrency = stat.average_concurrent_requests,
                              .request_count = stat.request_count};
  const auto wanted =
      scalers_.push(stat.revision, told, std::nullopt, autoscaler::StatDoor::stream, clock_.now());
  if (wanted) revisions_[wanted->index]->on_wanted();
}

void ScaleLoop::arm() {
  const auto next = scalers_.next_due();
  if (!next) return;
  timer_.expires_after(std::max(Duration{0}, *next - clock_.now()));
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec) run_due();
  });
}

void ScaleLoop::run_due() {
  scalers_.take_due(clock_.now(), due_);
  // A revision that acts may remove others; their handles are stale then.
  for (std::size_t i = 0; i < due_.size(); ++i) {
    const auto [handle, evaluate] = due_[i];
    if (scalers_.scaler(handle) != nullptr) revisions_[handle.index]->on_due(evaluate);
  }
  arm();
}

}  // namespace sluice::local
