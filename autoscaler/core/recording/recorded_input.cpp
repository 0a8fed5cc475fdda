#include "autoscaler/core/recording/recorded_input.h"

namespace sluice::autoscaler {
namespace {

struct TimeOf {
  std::optional<TimePoint> operator()(const EvalInput& eval) const { return eval.decided.time; }

  std::optional<TimePoint> operator()(const BoundsInput& /*bounds*/) const { return {}; }

  std::optional<TimePoint> operator()(const TakeOverInput& next) const { return next.start.at; }

  template <class Input>
  std::optional<TimePoint> operator()(const Input& input) const {
    return input.at;
  }
};

}  // namespace

std::string_view name(ReplicaEvent event) {
  switch (event) {
    case ReplicaEvent::started:
      return "started";
    case ReplicaEvent::ready:
      return "ready";
    case ReplicaEvent::lost:
      return "lost";
    case ReplicaEvent::gone:
      return "gone";
  }
  return "";
}

std::optional<TimePoint> time_of(const RecordedInput& input) {
  return std::visit(TimeOf{}, input);
}

}  // namespace sluice::autoscaler
