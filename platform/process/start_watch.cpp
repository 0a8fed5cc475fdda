#include "platform/process/start_watch.h"

#include "platform/process/proc_files.h"
#include <utility>

namespace sluice::local {
namespace {

/// A start that takes longer without a sign is worth a line.
constexpr std::chrono::seconds kSilence{10};

}  // namespace

StartWatch::StartWatch(Loop& loop, std::function<void(const Cause&)> worth_a_line,
                       std::function<void(const Cause&)> settled)
    : loop_{loop},
      worth_a_line_{std::move(worth_a_line)},
      on_settled_{std::move(settled)},
      timer_{loop.timer()},
      begun_{loop.now()} {}

void StartWatch::begin(std::function<Listening()> find, const StartSight& wanted,
                       Duration interval) {
  find_ = std::move(find);
  sight_ = wanted;
  interval_ = interval;
  begun_ = loop_.now();
  timer_->after(interval_, [this] { look(); });
}

// What a program opens beside its port, it mostly opens a moment before it: only what is seen twice
// counts.
void StartWatch::look() {
  const StartSight before = sight_;
  see();
  timer_->after(interval_, [this] { look(); });
  if (sight_ == before) tell();
}

void StartWatch::see() {
  Listening listening = find_();
  sight_.begun = listening.begun;
  sight_.listens = std::move(listening.ports);
  sight_.reachable = listening.reachable;
  const bool before = settling_.settled();
  settling_.note(waits_for().kind, processor_time(listening.cpu_ticks), loop_.now());
  if (!before && settling_.settled()) on_settled_(waits_for());
}

void StartWatch::tell() {
  const Cause cause = waits_for();
  const bool silent = loop_.now() - begun_ >= kSilence;
  const bool found = is_wrong_place(cause.kind) || cause.kind == CauseKind::container_port;
  if (told_ == cause.kind || !(silent || found)) return;
  told_ = cause.kind;
  worth_a_line_(cause);
}

Cause StartWatch::waits_for() const {
  return cause_of_wait(sight_, loop_.now() - begun_, last_failure_);
}

Cause StartWatch::timed_out(Duration limit) {
  see();
  return cause_of_timeout(sight_, limit, last_failure_);
}

}  // namespace sluice::local
