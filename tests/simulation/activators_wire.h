#pragma once

#include "autoscaler/io/activator_line.h"
#include "common/messages/activator_stream.h"
#include "common/messages/stat.h"
#include "common/time/time_point.h"
#include "tests/simulation/activators_scene.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice::simulation {

class SimActivator;
class SimAutoscaler;

/// One connection between an activator and the autoscaler, from its opening until both ends have
/// seen its end. As a stream it keeps the order of messages and has room for few of them; a cut
/// loses what is under way, and each end sees it in its own time. In the WebSocket form batches may
/// be lost, doubled, or pass each other while it is open.
class Wire {
 public:
  /// Messages under way in one direction, at most: what flow control lets through.
  static constexpr int kWindow = 3;

  /// Both outlive this.
  Wire(Scene& scene, SimActivator& activator, SimAutoscaler& autoscaler)
      : scene_(scene), activator_(activator), autoscaler_(autoscaler) {}

  /// False: the autoscaler is full.
  [[nodiscard]] bool open();

  /// Sends the messages of either end. Only when there is room.
  void write_up(const proto::ActivatorMessage& message);
  void write_down(const proto::AutoscalerMessage& message);

  [[nodiscard]] bool room_up() const { return up_open_ && up_under_way_ < kWindow; }

  [[nodiscard]] bool room_down() const { return down_open_ && down_under_way_ < kWindow; }

  /// What the autoscaler's end of the stream receives from now on.
  void listen(autoscaler::ActivatorLine::Events events);

  /// A message for the autoscaler's end.
  void tell_autoscaler(proto::ActivatorMessage message);

  /// A batch in the WebSocket form.
  void send(const std::vector<proto::StatMessage>& batch);

  /// The network lets nothing through any more; each end notices later.
  void cut();

  /// Nothing arrives for so long.
  void stall(Duration length);

  /// One end closes it, or its program ends: the other sees it soon.
  void close_by_activator();
  void close_by_autoscaler();

  /// Not cut, and not stalled now.
  [[nodiscard]] bool sound() const {
    return !cut_ && up_open_ && down_open_ && scene_.timeline.now() >= stalled_until_;
  }

  [[nodiscard]] bool over() const { return !up_open_ && !down_open_; }

  [[nodiscard]] SimAutoscaler& autoscaler() const { return autoscaler_; }

  /// Whose activator this is.
  [[nodiscard]] SimActivator& activator() const { return activator_; }

 private:
  [[nodiscard]] Duration arrival(TimePoint& clear);
  void arrive_up(proto::ActivatorMessage message);
  void arrive_down(proto::AutoscalerMessage message);
  void arrive_batch(const std::vector<proto::StatMessage>& batch);
  void notice_up();
  void notice_down();

  Scene& scene_;
  SimActivator& activator_;
  SimAutoscaler& autoscaler_;
  std::shared_ptr<const autoscaler::ActivatorLine::Events> events_;  // null: no listener
  bool up_open_ = true;                                              // as the activator sees it
  bool down_open_ = true;                                            // as the autoscaler sees it
  bool cut_ = false;
  TimePoint stalled_until_{};
  TimePoint up_clear_{};  // when the last message sent arrives: later ones come later
  TimePoint down_clear_{};
  int up_under_way_ = 0;
  int down_under_way_ = 0;
};

/// The autoscaler's end of a wire in the form of the stream.
class WireLine final : public autoscaler::ActivatorLine {
 public:
  explicit WireLine(Wire& wire) : wire_(wire) {}

  ~WireLine() override { wire_.listen({}); }

  WireLine(const WireLine&) = delete;
  WireLine& operator=(const WireLine&) = delete;

  void start(Events events) override { wire_.listen(std::move(events)); }

  [[nodiscard]] bool writable() const override { return wire_.room_down(); }

  void write(const proto::AutoscalerMessage& message) override { wire_.write_down(message); }

  void close(const rpc::Ending& /*ending*/) override { wire_.close_by_autoscaler(); }

  [[nodiscard]] std::string peer() const override { return "simulated"; }

 private:
  Wire& wire_;
};

}  // namespace sluice::simulation
