#include "programs/sluice/engine/scale_loop.h"

#include "common/base/check.h"

#include <utility>

namespace sluice::local {

autoscaler::ScalerHandle ScaleLoop::add(const RevisionId& id, autoscaler::RevisionScalerSpec spec,
                                        ScaledRevision& revision) {
  const auto handle = loop_.add(id, std::move(spec), 0, revision);
  CHECK(handle.has_value());
  return *handle;
}

void ScaleLoop::poke(const activator::RevisionStat& stat) {
  loop_.push(stat.revision,
             {.average_concurrency = stat.average_concurrent_requests,
              .request_count = stat.request_count},
             std::nullopt, autoscaler::StatDoor::stream);
}

void ScaleLoop::report(const activator::RevisionStat& stat) {
  const auto handle = loop_.find(stat.revision);
  if (handle && loop_.scaler(*handle).last().told_to_sleep) return;
  poke(stat);
}

}  // namespace sluice::local
