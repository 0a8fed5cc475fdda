#include "tests/unit/autoscaler/core/revision_world.h"

#include <algorithm>
#include <limits>

namespace sluice::autoscaler {

RevisionWorld::RevisionWorld(const ScalingSpec& spec, std::int64_t start_time)
    : scaler_({.scaling = spec, .revision = "app-00001", .replicas = std::nullopt}, 0, at(0)),
      start_time_(start_time) {
  follow(scaler_.want());
}

RevisionWorld& RevisionWorld::load(double concurrency) {
  const bool first = concurrency > 0 && !known_to_front_door_;
  load_ = concurrency;
  if (!first) return *this;
  known_to_front_door_ = true;
  first_report_ = 1;
  const Stat early{.average_concurrency = 1, .request_count = 1};
  if (scaler_.push(early, at(second_))) evaluate(Trigger::poke);
  return *this;
}

RevisionWorld& RevisionWorld::mute(bool muted) {
  muted_ = muted;
  return *this;
}

RevisionWorld& RevisionWorld::break_starts() {
  broken_ = true;
  return *this;
}

RevisionWorld& RevisionWorld::until(std::int64_t second) {
  while (second_ < second) {
    ++second_;
    play_second();
  }
  return *this;
}

void RevisionWorld::play_second() {
  if (known_to_front_door_) {
    const Stat stat{.average_concurrency = std::max(load_ - first_report_, 0.0),
                    .request_count = std::max(load_ * 10 - first_report_, 0.0)};
    first_report_ = 0;
    if (!muted_ && scaler_.push(stat, at(second_))) evaluate(Trigger::poke);
    known_to_front_door_ = load_ > 0;
  }
  const std::int32_t pods = ready();
  if (pods > 0 && !muted_) {
    // All of it came through the front door, which has reported it already.
    const double each = load_ / pods;
    const std::vector<Stat> answers(static_cast<std::size_t>(sample_size(pods)),
                                    Stat{.average_concurrency = each,
                                         .average_proxied_concurrency = each,
                                         .request_count = each * 10,
                                         .proxied_request_count = each * 10});
    scaler_.scraped(scrape_average(answers, pods), at(second_));
  }
  if (second_ % 2 == 0) evaluate(Trigger::tick);
}

void RevisionWorld::evaluate(Trigger trigger) {
  const ScaleState got = scaler_.evaluate({.trigger = trigger, .ready = ready()}, at(second_));
  follow(got.want);
  const std::string state = std::string{name(got.activity)} + " want " + std::to_string(got.want);
  if (state == state_) return;
  state_ = state;
  lines_ += std::to_string(second_) + "s " + state + " ready " + std::to_string(got.record.ready) +
            ": " + why(got.record) + "\n";
}

void RevisionWorld::follow(std::int32_t want) {
  const auto wanted = static_cast<std::size_t>(want);
  const std::int64_t never = std::numeric_limits<std::int64_t>::max();
  if (ready_at_.size() > wanted) ready_at_.resize(wanted);
  while (ready_at_.size() < wanted) ready_at_.push_back(broken_ ? never : second_ + start_time_);
}

std::int32_t RevisionWorld::ready() const {
  return static_cast<std::int32_t>(std::count_if(
      ready_at_.begin(), ready_at_.end(), [this](std::int64_t since) { return since <= second_; }));
}

std::string RevisionWorld::lines() {
  std::string result;
  result.swap(lines_);
  return result;
}

}  // namespace sluice::autoscaler
