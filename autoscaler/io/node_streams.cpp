#include "autoscaler/io/node_streams.h"

#include "common/proto/node_stream_codec.h"

#include <utility>
#include <variant>

namespace sluice::autoscaler {

namespace {

constexpr std::chrono::seconds kLook{5};

// A stream that says nothing takes a place from one that would: to begin with, and later.
constexpr std::chrono::seconds kFirstReport{10};
constexpr Duration kNextReport = 2 * proto::kReportIntervalMax;

constexpr const char* kLedElsewhere =
    "another replica of the autoscaler takes the reports: this one does not hold the first bucket";

}  // namespace

NodeStreams::NodeStreams(Loop& time, const log::Logger& log, NodeBook& book, Refusals& refusals,
                         std::function<void()> changed, Where where)
    : time_{time},
      log_{log},
      book_{book},
      refusals_{refusals},
      changed_{std::move(changed)},
      where_{std::move(where)},
      watch_timer_{time.timer()} {}

NodeStreams::~NodeStreams() {
  close();
}

void NodeStreams::close() {
  watch_timer_->cancel();
  watching_ = false;
  end_all("this autoscaler is shutting down");
}

void NodeStreams::end_all(const char* why) {
  for (auto& [id, line] : lines_) line.call->close({rpc::Code::unavailable, why});
  lines_.clear();
}

// What the book has of the nodes grows old by itself.
void NodeStreams::set_leading(bool leading) {
  leading_ = leading;
  if (leading || lines_.empty()) return;
  log_.write(log::Severity::info, "this replica no longer takes reports of node agents",
             {{"streams", std::to_string(lines_.size())}});
  end_all(kLedElsewhere);
}

void NodeStreams::take(std::unique_ptr<rpc::Call> call) {
  if (!leading_) {
    call->close({rpc::Code::unavailable, kLedElsewhere});
    return;
  }
  if (lines_.size() >= NodeBook::kNodesMax) {
    call->close({rpc::Code::resource_exhausted, "there are too many nodes"});
    return;
  }
  const std::uint64_t id = next_++;
  rpc::Call& started = *call;
  lines_.emplace(id, Line{.call = std::move(call), .node = {}, .heard = time_.now(), .owed = {}});
  started.start({.on_message = [this, id](const std::string& bytes) { received(id, bytes); },
                 .on_writable =
                     [this, id] {
                       const auto line = lines_.find(id);
                       if (line != lines_.end()) send(line->second);
                     },
                 .on_closed =
                     [this, id](const rpc::Ending& ending) {
                       const auto line = lines_.find(id);
                       if (line == lines_.end()) return;
                       log_.write(log::Severity::info, "a node's stream has ended",
                                  {{"node", line->second.node}, {"how", ending.show()}});
                       lines_.erase(line);
                     }});
  watch();
}

void NodeStreams::received(std::uint64_t id, const std::string& bytes) {
  const auto at = lines_.find(id);
  if (at == lines_.end()) return;
  Line& line = at->second;
  auto report = proto::decode_node_report(bytes);
  if (!report) {
    end(id, {rpc::Code::invalid_argument, "the report cannot be read"});
    return;
  }
  const bool first = line.node.empty();
  if (first) line.node = report->node;
  line.heard = time_.now();
  if (report->node != line.node) {
    end(id,
        {rpc::Code::invalid_argument, "a stream reports for one node, this one for " + line.node});
    return;
  }
  if (const auto ending = not_its_own(line, *report)) {
    refusals_.add("other_node", line.call->peer(), ending->text);
    return end(id, *ending);
  }
  count_claims(line, *report);
  const auto heard = book_.hear(std::move(*report), time_.now());
  if (const auto* refused = std::get_if<NodeBook::Refused>(&heard)) {
    end(id,
        {refused->wrong_protocol ? rpc::Code::failed_precondition : rpc::Code::resource_exhausted,
         refused->text});
    return;
  }
  if (first) {
    log_.write(log::Severity::info, "a node agent is connected",
               {{"node", line.node}, {"nodes", std::to_string(book_.reporting())}});
  }
  const auto& taken = std::get<NodeBook::Heard>(heard);
  line.owed = taken.ack;
  send(line);
  if (taken.other_pressure && on_pressure_) on_pressure_(line.node);
  if (taken.changed) changed_();
}

// Without TLS nothing proves who speaks.
std::optional<rpc::Ending> NodeStreams::not_its_own(const Line& line,
                                                    const proto::NodeReport& report) const {
  const rpc::Peer& caller = line.call->caller();
  if (!caller.tls || report.protocol != proto::kNodeProtocol ||
      caller.identity.node == report.node) {
    return std::nullopt;
  }
  return rpc::Ending{rpc::Code::permission_denied,
                     "the certificate is that of " + caller.identity.shown() +
                         " and the report is of node " + report.node +
                         ": see NODE_NAME and SLUICE_TLS_DIR of the agent"};
}

// What it says of pods of others changes nothing (NodeBook::throttled); it is a sign of something.
void NodeStreams::count_claims(const Line& line, const proto::NodeReport& report) {
  if (!where_ || report.protocol != proto::kNodeProtocol) return;
  for (const auto& each : report.throttled) {
    const auto node = where_(each.space, each.pod);
    if (node && *node == report.node) continue;
    refusals_.add(node ? "pod_of_other_node" : "unknown_pod", line.call->peer(), [&] {
      return "node " + report.node + " reports pod " + each.space + "/" + each.pod +
             (node ? ", which is on node " + *node : ", which is unknown here");
    });
  }
}

void NodeStreams::send(Line& line) {
  if (!line.owed || !line.call->writable()) return;
  line.call->write(proto::encode(*std::exchange(line.owed, std::nullopt)));
}

void NodeStreams::end(std::uint64_t id, const rpc::Ending& ending) {
  const auto line = lines_.find(id);
  log_.write(log::Severity::warning, "a node's stream is refused",
             {{"peer", line->second.call->peer()}, {"why", ending.show()}});
  line->second.call->close(ending);
  lines_.erase(line);
}

void NodeStreams::end_silent() {
  const TimePoint now = time_.now();
  for (auto at = lines_.begin(); at != lines_.end();) {
    const auto& [id, line] = *at++;
    if (now - line.heard < (line.node.empty() ? kFirstReport : kNextReport)) continue;
    end(id, {rpc::Code::deadline_exceeded, "no report was received"});
  }
}

void NodeStreams::watch() {
  if (std::exchange(watching_, true)) return;
  watch_timer_->after(kLook, [this] {
    watching_ = false;
    end_silent();
    if (book_.look(time_.now())) changed_();
    watch();
  });
}

}  // namespace sluice::autoscaler
