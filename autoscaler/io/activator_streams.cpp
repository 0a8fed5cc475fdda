#include "autoscaler/io/activator_streams.h"

#include <utility>

namespace sluice::autoscaler {
namespace {

rpc::Ending ending_of(const ActivatorHub::Refused& refused) {
  const bool protocol = refused.why == ActivatorHub::Refusal::wrong_protocol;
  return {protocol ? rpc::Code::failed_precondition : rpc::Code::invalid_argument, refused.text};
}

}  // namespace

ActivatorStreams::ActivatorStreams(Loop& time, const log::Logger& log, ActivatorHub& hub,
                                   Heard heard)
    : time_{time},
      log_{log},
      hub_{hub},
      heard_{std::move(heard)},
      pace_timer_{time.timer()},
      hello_timer_{time.timer()} {}

ActivatorStreams::~ActivatorStreams() {
  alive_.end();
  close();
}

void ActivatorStreams::close() {
  pace_timer_->cancel();
  hello_timer_->cancel();
  watching_hellos_ = false;
  for (auto& [session, line] : lines_) {
    line->close({rpc::Code::unavailable, "this autoscaler is shutting down"});
  }
  lines_.clear();
}

void ActivatorStreams::take(std::unique_ptr<ActivatorLine> line) {
  const auto session = hub_.open(time_.now());
  if (!session) {
    line->close({rpc::Code::resource_exhausted, "there are too many activators"});
    return;
  }
  ActivatorLine& started = *line;
  lines_.emplace(*session, std::move(line));
  started.start(
      {.on_message = [this, id = *session](
                         proto::ActivatorMessage message) { received(id, std::move(message)); },
       .on_unreadable =
           [this, id = *session] {
             refuse(id, {rpc::Code::invalid_argument, "the message cannot be read"});
           },
       .on_writable =
           [this, id = *session] {
             const auto at = lines_.find(id);
             if (at != lines_.end()) send(id, *at->second, time_.now());
           },
       .on_closed = [this, id = *session](const rpc::Ending& ending) { ended(id, ending); }});
  watch_hellos();
}

// A silent call takes a session that another activator could use.
void ActivatorStreams::watch_hellos() {
  if (lines_.empty() || std::exchange(watching_hellos_, true)) return;
  hello_timer_->after(kHelloLimit, [this] {
    watching_hellos_ = false;
    for (const Session session : hub_.overdue(time_.now())) {
      refuse(session, {rpc::Code::deadline_exceeded, "no Hello was received"});
    }
    watch_hellos();
  });
}

void ActivatorStreams::received(Session session, proto::ActivatorMessage message) {
  const ActivatorHub::Heard heard = hub_.received(session, std::move(message), time_.now());
  if (heard.refused) {
    refuse(session, ending_of(*heard.refused));
    return;
  }
  if (heard.greeted) {
    log_.write(
        log::Severity::info, "an activator is connected",
        {{"peer", lines_.at(session)->peer()}, {"activators", std::to_string(hub_.connected())}});
  }
  heard_(heard);
  news();
}

void ActivatorStreams::refuse(Session session, const rpc::Ending& ending) {
  const auto line = lines_.find(session);
  if (line == lines_.end()) return;
  log_.write(log::Severity::warning, "a stream is refused",
             {{"peer", line->second->peer()}, {"why", ending.show()}});
  line->second->close(ending);
  forget(session);
}

void ActivatorStreams::ended(Session session, const rpc::Ending& ending) {
  const auto line = lines_.find(session);
  if (line == lines_.end()) return;
  log_.write(log::Severity::info, "a stream has ended",
             {{"peer", line->second->peer()}, {"how", ending.show()}});
  forget(session);
}

void ActivatorStreams::forget(Session session) {
  hub_.closed(session, time_.now());
  lines_.erase(session);
}

void ActivatorStreams::news() {
  if (std::exchange(news_posted_, true)) return;
  time_.post([this, alive = alive_.watch()] {
    if (alive.over()) return;
    news_posted_ = false;
    send_all();
  });
}

void ActivatorStreams::send(Session session, ActivatorLine& line, TimePoint now) {
  while (line.writable()) {
    const auto message = hub_.next_message(session, now);
    if (!message) return;
    line.write(*message);
  }
}

// One moment for both: what is not due for sending yet is waited for.
void ActivatorStreams::send_all() {
  const TimePoint now = time_.now();
  for (const auto& [session, line] : lines_) send(session, *line, now);
  arm(now);
}

void ActivatorStreams::arm(TimePoint now) {
  const auto due = hub_.next_due(now);
  if (!due) return;
  pace_timer_->at(*due, [this] { send_all(); });
}

}  // namespace sluice::autoscaler
