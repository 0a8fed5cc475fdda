#pragma once

#include "autoscaler/core/activators/activator_hub.h"
#include "autoscaler/io/activator_line.h"
#include "common/base/lifetime.h"
#include "common/log/log.h"
#include "common/loop/loop.h"

#include <functional>
#include <map>
#include <memory>

namespace sluice::autoscaler {

/// The streams from our activators (protocols.md 3): messages between their lines and the hub.
class ActivatorStreams {
 public:
  using Heard = std::function<void(const ActivatorHub::Heard&)>;

  /// `time`, `log` and `hub` outlive this. `heard` is called with every message that reports
  /// something.
  ActivatorStreams(Loop& time, const log::Logger& log, ActivatorHub& hub, Heard heard);
  ~ActivatorStreams();
  ActivatorStreams(const ActivatorStreams&) = delete;
  ActivatorStreams& operator=(const ActivatorStreams&) = delete;

  /// A new stream.
  void take(std::unique_ptr<ActivatorLine> line);

  /// The hub may have something to send: it goes out in the loop's next turn.
  void news();

  /// Ends every stream; activators reconnect to the next server.
  void close();

 private:
  using Session = ActivatorHub::Session;

  void received(Session session, proto::ActivatorMessage message);
  void refuse(Session session, const rpc::Ending& ending);
  void ended(Session session, const rpc::Ending& ending);
  void forget(Session session);
  void send(Session session, ActivatorLine& line, TimePoint now);
  void send_all();
  void arm(TimePoint now);
  void watch_hellos();

  Loop& time_;
  const log::Logger& log_;
  ActivatorHub& hub_;
  Heard heard_;
  std::unique_ptr<Timer> pace_timer_;
  std::unique_ptr<Timer> hello_timer_;
  std::map<Session, std::unique_ptr<ActivatorLine>> lines_;
  bool news_posted_ = false;
  bool watching_hellos_ = false;
  Lifetime alive_;
};

}  // namespace sluice::autoscaler
