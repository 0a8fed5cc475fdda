#include "autoscaler/core/decision/attention.h"

#include <algorithm>

namespace sluice::autoscaler {
namespace {

// As long as silent pods and activators are waited for.
constexpr Duration kGap = std::chrono::seconds{10};
constexpr Duration kStepBackMax = std::chrono::seconds{2};
constexpr Duration kAbsence = std::chrono::seconds{10};

}  // namespace

Duration Attention::evaluate(TimePoint now, bool activator_connected, Duration stable_window) {
  const Duration step = now - evaluated_;
  // More than half a window unseen could empty it.
  const Duration gap = std::max(std::min(kGap, stable_window / 2), usual_ * 2);
  const bool observed = step >= -kStepBackMax && step <= gap;
  step_ = std::clamp(step, Duration{0}, gap);
  usual_ = observed ? std::max(step_, usual_ * 3 / 4) : std::clamp(step, Duration{0}, gap * 2);
  evaluated_ = now;
  const Duration unobserved = observed ? Duration{0} : step - step_;
  if (absent_since_) *absent_since_ += unobserved;
  follow_activator(now, activator_connected);
  if (!observed) {
    resumed_ = now;
    known_ = Duration{0};
    had_data_ = false;
    settled_ = false;
  }
  return unobserved;
}

void Attention::follow_activator(TimePoint now, bool connected) {
  if (!connected) {
    if (!absent_since_) absent_since_ = now;
  } else if (absent_since_) {
    if (now - *absent_since_ >= kAbsence) resumed_ = now;
    absent_since_.reset();
  }
}

SavedAttention Attention::saved() const {
  return {evaluated_, step_, usual_, absent_since_, resumed_, known_, had_data_, settled_};
}

void Attention::restore(const SavedAttention& saved) {
  evaluated_ = saved.evaluated;
  step_ = saved.step;
  usual_ = saved.usual;
  absent_since_ = saved.absent_since;
  resumed_ = saved.resumed;
  known_ = saved.known;
  had_data_ = saved.had_data;
  settled_ = saved.settled;
}

void Attention::conclude(bool valid, Duration stable_window) {
  if (valid && had_data_) known_ += step_;
  had_data_ = valid;
  if (known_ >= stable_window) settled_ = true;
}

}  // namespace sluice::autoscaler
