#include "tests/simulation/activators_wire.h"

#include "tests/simulation/activators_activator.h"
#include "tests/simulation/activators_autoscaler.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace sluice::simulation {

namespace {

constexpr Between kSoon{std::chrono::milliseconds{1}, std::chrono::milliseconds{100}};
constexpr Between kOvertaken{std::chrono::milliseconds{100}, std::chrono::seconds{3}};

}  // namespace

bool Wire::open() {
  if (autoscaler_.opened(*this)) return true;
  up_open_ = down_open_ = false;
  return false;
}

void Wire::listen(autoscaler::ActivatorLine::Events events) {
  events_ = events.on_message
                ? std::make_shared<const autoscaler::ActivatorLine::Events>(std::move(events))
                : nullptr;
}

void Wire::tell_autoscaler(proto::ActivatorMessage message) {
  if (const auto events = events_) events->on_message(std::move(message));
}

Duration Wire::arrival(TimePoint& clear) {
  const TimePoint now = scene_.timeline.now();
  clear = std::max({clear, stalled_until_, now + scene_.timeline.draw(scene_.world.message)});
  return clear - now;
}

void Wire::write_up(const proto::ActivatorMessage& message) {
  ++up_under_way_;
  scene_.timeline.after(arrival(up_clear_),
                        [this, sent = message]() mutable { arrive_up(std::move(sent)); });
}

// Stalled messages arrive in the order they were sent: they were put into the timeline in that
// order.
void Wire::arrive_up(proto::ActivatorMessage message) {
  if (cut_ || !down_open_) return;
  if (const Duration left = stalled_until_ - scene_.timeline.now(); left > Duration{0}) {
    up_clear_ = std::max(up_clear_, stalled_until_);
    return scene_.timeline.after(
        left, [this, sent = std::move(message)]() mutable { arrive_up(std::move(sent)); });
  }
  --up_under_way_;
  autoscaler_.received(*this, std::move(message));
  if (up_open_) activator_.writable(*this);
}

void Wire::write_down(const proto::AutoscalerMessage& message) {
  if (scene_.world.mutant == Mutant::stream_loses_states &&
      std::holds_alternative<proto::RevisionState>(message) && scene_.timeline.happens(0.5)) {
    return;
  }
  ++down_under_way_;
  scene_.timeline.after(arrival(down_clear_),
                        [this, sent = message]() mutable { arrive_down(std::move(sent)); });
}

void Wire::arrive_down(proto::AutoscalerMessage message) {
  if (cut_ || !up_open_) return;
  if (const Duration left = stalled_until_ - scene_.timeline.now(); left > Duration{0}) {
    down_clear_ = std::max(down_clear_, stalled_until_);
    return scene_.timeline.after(
        left, [this, sent = std::move(message)]() mutable { arrive_down(std::move(sent)); });
  }
  --down_under_way_;
  activator_.received(*this, std::move(message));
  if (const auto events = events_; events && down_open_) events->on_writable();
}

void Wire::send(const std::vector<proto::StatMessage>& batch) {
  const Faults& faults = scene_.world.faults;
  if (!up_open_ || scene_.strikes(faults.share_lost_batches)) return;
  const int copies = scene_.strikes(faults.share_doubled_batches) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    const bool late = scene_.strikes(faults.share_late_batches);
    const Duration wait = scene_.timeline.draw(late ? kOvertaken : scene_.world.message);
    scene_.timeline.after(wait, [this, batch] { arrive_batch(batch); });
  }
}

void Wire::arrive_batch(const std::vector<proto::StatMessage>& batch) {
  if (cut_ || !down_open_) return;
  if (const Duration left = stalled_until_ - scene_.timeline.now(); left > Duration{0}) {
    return scene_.timeline.after(left, [this, batch] { arrive_batch(batch); });
  }
  autoscaler_.received(batch);
}

void Wire::cut() {
  if (std::exchange(cut_, true)) return;
  const Between& noticed = scene_.world.faults.cut_noticed;
  scene_.timeline.after(scene_.timeline.draw(noticed), [this] { notice_up(); });
  scene_.timeline.after(scene_.timeline.draw(noticed), [this] { notice_down(); });
}

void Wire::stall(Duration length) {
  stalled_until_ = std::max(stalled_until_, scene_.timeline.now() + length);
}

void Wire::close_by_activator() {
  if (!std::exchange(up_open_, false)) return;
  scene_.timeline.after(scene_.timeline.draw(kSoon), [this] { notice_down(); });
}

void Wire::close_by_autoscaler() {
  if (!std::exchange(down_open_, false)) return;
  scene_.timeline.after(scene_.timeline.draw(kSoon), [this] { notice_up(); });
}

void Wire::notice_up() {
  if (std::exchange(up_open_, false)) activator_.lost(*this);
}

void Wire::notice_down() {
  if (!std::exchange(down_open_, false)) return;
  autoscaler_.closed(*this);
  if (const auto events = events_) events->on_closed({rpc::Code::unavailable, "the wire is over"});
}

}  // namespace sluice::simulation
