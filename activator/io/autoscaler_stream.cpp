#include "activator/io/autoscaler_stream.h"

#include <algorithm>
#include <utility>

namespace sluice::activator {

AutoscalerStream::AutoscalerStream(AutoscalerDialler& dialler, const log::Logger& log,
                                   StreamSpec spec, PeerEvents events)
    : dialler_{dialler},
      log_{log},
      spec_{std::move(spec)},
      events_{std::move(events)},
      link_{spec_.self} {}

AutoscalerStream::~AutoscalerStream() = default;

Result<std::unique_ptr<AutoscalerStream>, Problem> AutoscalerStream::make(
    AutoscalerDialler& dialler, const log::Logger& log, StreamSpec spec, PeerEvents events) {
  std::unique_ptr<AutoscalerStream> made{
      new AutoscalerStream{dialler, log, std::move(spec), std::move(events)}};
  for (const std::string& target : made->spec_.targets) {
    if (auto problem = made->add(target)) return std::move(*problem);
  }
  return made;
}

std::optional<Problem> AutoscalerStream::add(const std::string& target) {
  auto made = std::make_unique<Replica>();
  Replica& replica = *made;
  auto line = dialler_.dial(
      target,
      {.on_connected = [this, &replica] { connected(replica); },
       .on_message =
           [this, &replica](proto::AutoscalerMessage message) {
             received(replica, std::move(message));
           },
       .on_unreadable = [this, &replica] { unreadable(replica); },
       .on_writable = [this, &replica] { pump(replica); },
       .on_closed = [this, &replica](const rpc::Ending& ending,
                                     bool connected) { closed(replica, ending, connected); }});
  if (!line) return line.error();
  const auto stream = link_.add();
  if (!stream) return Problem{"too many autoscaler addresses", "name each replica once"};
  replica.stream = *stream;
  replica.line = std::move(*line);
  replicas_.push_back(std::move(made));
  return std::nullopt;
}

void AutoscalerStream::start() {
  started_ = true;
  for (const auto& replica : replicas_) replica->line->start();
}

void AutoscalerStream::follow(const std::vector<std::string>& targets) {
  spec_.targets = targets;
  settle();
}

// Who comes is dialled before who goes is dropped: the last channel of a process takes its time.
void AutoscalerStream::settle() {
  incomplete_ = false;
  for (const std::string& target : spec_.targets) {
    const bool known =
        std::any_of(replicas_.begin(), replicas_.end(),
                    [&target](const auto& replica) { return replica->line->target() == target; });
    if (known) continue;
    if (const auto problem = add(target)) {
      ++errors_;
      incomplete_ = true;
      log_.write(log::Severity::error, "cannot dial a replica of the autoscaler",
                 {{"autoscaler", target}, {"reason", problem->text()}});
      continue;
    }
    if (started_) replicas_.back()->line->start();
  }
  std::erase_if(replicas_, [this](const auto& replica) {
    const std::string& target = replica->line->target();
    const auto& wanted = spec_.targets;
    if (std::find(wanted.begin(), wanted.end(), target) != wanted.end()) return false;
    log_.write(log::Severity::info, "a replica of the autoscaler is no longer listed",
               {{"autoscaler", target}});
    link_.remove(replica->stream);
    return true;
  });
}

void AutoscalerStream::poke(const RevisionStat& stat, const proto::Waiting& held, TimePoint now) {
  link_.poke(stat, held, now);
  pump_all();
}

void AutoscalerStream::tick(std::span<const RevisionStat> stats,
                            std::span<const proto::Waiting> waiting, TimePoint now) {
  if (incomplete_) settle();
  link_.tick(stats, waiting, now);
  pump_all();
}

void AutoscalerStream::cold_start(const proto::ColdStart& start) {
  link_.cold_start(start);
  pump_all();
}

const proto::RevisionState* AutoscalerStream::state(const RevisionId& revision) const {
  return link_.state(revision);
}

void AutoscalerStream::connected(Replica& replica) {
  link_.connected(replica.stream, events_.held());
  pump(replica);
}

void AutoscalerStream::unreadable(Replica& replica) {
  ++errors_;
  log_.write(log::Severity::error, "invalid message from the autoscaler",
             {{"autoscaler", replica.line->target()}});
  replica.line->reconnect({rpc::Code::invalid_argument, "invalid message"});
}

void AutoscalerStream::received(Replica& replica, proto::AutoscalerMessage message) {
  const AutoscalerLink::Heard heard = link_.received(replica.stream, std::move(message));
  if (heard.refused) {
    ++errors_;
    log_.write(log::Severity::error, "refused the autoscaler",
               {{"autoscaler", replica.line->target()}, {"reason", *heard.refused}});
    replica.line->reconnect({rpc::Code::failed_precondition, *heard.refused});
    return;
  }
  if (heard.welcomed) {
    replica.told = false;
    log_.write(log::Severity::info, "connected to the autoscaler",
               {{"autoscaler", replica.line->target()}});
    events_.on_reached();
  }
  for (const proto::RevisionState& state : heard.states) {
    events_.on_state(state);
    link_.applied(state.revision, state.version);
  }
  for (const RevisionId& gone : heard.gone) events_.on_gone(gone);
  pump(replica);
}

void AutoscalerStream::closed(Replica& replica, const rpc::Ending& ending, bool connected) {
  ++errors_;
  if (connected) link_.lost(replica.stream);
  if (!connected && replica.told) return;
  replica.told = true;
  log_.write(log::Severity::warning,
             "the autoscaler cannot be reached; requests are served as before",
             {{"autoscaler", replica.line->target()}, {"ending", ending.show()}});
}

void AutoscalerStream::pump(Replica& replica) {
  while (replica.line->writable()) {
    const auto message = link_.next_message(replica.stream);
    if (!message) return;
    replica.line->write(*message);
  }
}

void AutoscalerStream::pump_all() {
  for (const auto& replica : replicas_) pump(*replica);
}

}  // namespace sluice::activator
