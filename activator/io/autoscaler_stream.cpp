#include "activator/io/autoscaler_stream.h"

#include "common/proto/activator_stream_codec.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sluice::activator {

AutoscalerStream::AutoscalerStream(boost::asio::io_context& io, const log::Logger& log,
                                   StreamSpec spec, PeerEvents events)
    : io_{io}, log_{log}, spec_{std::move(spec)}, events_{std::move(events)}, link_{spec_.self} {}

AutoscalerStream::~AutoscalerStream() = default;

Result<std::unique_ptr<AutoscalerStream>, Problem> AutoscalerStream::make(
    boost::asio::io_context& io, const log::Logger& log, StreamSpec spec, PeerEvents events) {
  std::unique_ptr<AutoscalerStream> made{
      new AutoscalerStream{io, log, std::move(spec), std::move(events)}};
  for (const std::string& target : made->spec_.targets) {
    if (auto problem = made->add(target)) return std::move(*problem);
  }
  return made;
}

std::optional<Problem> AutoscalerStream::add(const std::string& target) {
  auto made = std::make_unique<Replica>();
  Replica& replica = *made;
  rpc::ClientOptions options{.target = target, .method = proto::kActivatorStreamMethod};
  options.tls_dir = spec_.tls_dir;
  options.tls_name = spec_.tls_name;
  options.seed = std::hash<std::string>{}(spec_.self.activator + target);
  auto client = rpc::Client::make(
      io_, std::move(options),
      {.on_connected = [this, &replica] { connected(replica); },
       .on_message = [this, &replica](std::string bytes) { received(replica, std::move(bytes)); },
       .on_writable = [this, &replica] { pump(replica); },
       .on_closed =
           [this, &replica](const rpc::Client::Closed& closed) { this->closed(replica, closed); }});
  if (!client) return client.error();
  const auto stream = link_.add();
  if (!stream) return Problem{"too many autoscaler addresses", "name each replica once"};
  replica.stream = *stream;
  replica.client = std::move(*client);
  replicas_.push_back(std::move(made));
  return std::nullopt;
}

void AutoscalerStream::start() {
  started_ = true;
  for (const auto& replica : replicas_) replica->client->start();
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
                    [&target](const auto& replica) { return replica->client->target() == target; });
    if (known) continue;
    if (const auto problem = add(target)) {
      ++errors_;
      incomplete_ = true;
      log_.write(log::Severity::error, "cannot dial a replica of the autoscaler",
                 {{"autoscaler", target}, {"reason", problem->text()}});
      continue;
    }
    if (started_) replicas_.back()->client->start();
  }
  std::erase_if(replicas_, [this](const auto& replica) {
    const std::string& target = replica->client->target();
    const auto& wanted = spec_.targets;
    if (std::find(wanted.begin(), wanted.end(), target) != wanted.end()) return false;
    log_.write(log::Severity::info, "a replica of the autoscaler is gone",
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

void AutoscalerStream::received(Replica& replica, std::string bytes) {
  auto message = proto::decode_autoscaler_message(bytes);
  if (!message) {
    ++errors_;
    log_.write(log::Severity::error, "invalid message from the autoscaler",
               {{"autoscaler", replica.client->target()}});
    replica.client->reconnect({rpc::Code::invalid_argument, "invalid message"});
    return;
  }
  if (!*message) return;  // of a later version
  const AutoscalerLink::Heard heard = link_.received(replica.stream, std::move(**message));
  if (heard.refused) {
    ++errors_;
    log_.write(log::Severity::error, "refused the autoscaler",
               {{"autoscaler", replica.client->target()}, {"reason", *heard.refused}});
    replica.client->reconnect({rpc::Code::failed_precondition, *heard.refused});
    return;
  }
  if (heard.welcomed) {
    replica.told = false;
    log_.write(log::Severity::info, "connected to the autoscaler",
               {{"autoscaler", replica.client->target()}});
    events_.on_reached();
  }
  for (const proto::RevisionState& state : heard.states) {
    events_.on_state(state);
    link_.applied(state.revision, state.version);
  }
  for (const RevisionId& gone : heard.gone) events_.on_gone(gone);
  pump(replica);
}

void AutoscalerStream::closed(Replica& replica, const rpc::Client::Closed& closed) {
  ++errors_;
  if (closed.connected) link_.lost(replica.stream);
  if (!closed.connected && replica.told) return;
  replica.told = true;
  log_.write(log::Severity::warning,
             "the autoscaler cannot be reached; requests are served as before",
             {{"autoscaler", replica.client->target()}, {"ending", closed.ending.show()}});
}

void AutoscalerStream::pump(Replica& replica) {
  while (replica.client->writable()) {
    const auto message = link_.next_message(replica.stream);
    if (!message) return;
    replica.client->write(proto::encode(*message));
  }
}

void AutoscalerStream::pump_all() {
  for (const auto& replica : replicas_) pump(*replica);
}

}  // namespace sluice::activator
