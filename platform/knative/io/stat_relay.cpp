#include "platform/knative/io/stat_relay.h"

#include "autoscaler/core/share/stat_forwarding.h"

#include <utility>

namespace sluice::autoscaler {

StatRelay::StatRelay(boost::asio::io_context& io, const Clock& clock, const log::Logger& log,
                     const std::string& address)
    : clock_{clock},
      log_{log},
      socket_{io,
              {"ws://" + address},
              {.sent =
                   [this](std::size_t count) {
                     counts_.relayed += count;
                     failing_ = false;
                   },
               .failed =
                   [this, address](const HolderSocket::Stats& stats) {
                     counts_.dropped += stats.size();
                     if (std::exchange(failing_, true)) return;
                     log_.write(log::Severity::warning,
                                "stats cannot be relayed to Knative's autoscaler",
                                {{"address", address},
                                 {"fix", "correct SLUICE_STATS_RELAY, or start that autoscaler"}});
                   }}} {}

void StatRelay::take(std::span<const proto::StatMessage> messages,
                     const std::function<bool(const RevisionId&)>& others) {
  HolderSocket::Stats stats;
  for (const proto::StatMessage& message : messages) {
    if (others(message.revision)) stats.push_back(to_forward(message, clock_.now()));
  }
  if (!stats.empty()) socket_.send(std::move(stats));
}

void StatRelay::write_metrics(metrics::Families& families) const {
  using metrics::MetricType;
  families.counter("sluice_autoscaler_stats_relayed_total", "Stats relayed to Knative's autoscaler",
                   counts_.relayed);
  families.counter("sluice_autoscaler_stats_relay_dropped_total",
                   "Stats that Knative's autoscaler did not accept", counts_.dropped);
}

}  // namespace sluice::autoscaler
