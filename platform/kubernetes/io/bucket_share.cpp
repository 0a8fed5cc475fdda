#include "platform/kubernetes/io/bucket_share.h"

#include "common/kube/objects.h"
#include "common/ring/hash_ring.h"

#include <chrono>
#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr std::chrono::seconds kRulesRetry{2};

}  // namespace

BucketShare::BucketShare(boost::asio::io_context& io, const Clock& clock, std::mt19937_64& random,
                         const log::Logger& log, kube::Client& client, Fleet& fleet,
                         BucketShareSpec spec, Events events)
    : io_{io},
      clock_{clock},
      random_{random},
      log_{log},
      client_{client},
      fleet_{fleet},
      spec_{std::move(spec)},
      events_{std::move(events)},
      retry_{io} {}

void BucketShare::start() {
  read_rules();
}

// How many buckets there are must be known before any is held. A map that is not there means the
// defaults; one that cannot be read is asked for again, since a wrong number of buckets would have
// two replicas scale one revision.
void BucketShare::read_rules() {
  call_ = client_.send(
      {.verb = kube::Verb::get,
       .path = "/api/v1/namespaces/" + spec_.space + "/configmaps/config-leader-election",
       .lane = kube::Lane::free},
      [this](const kube::Answer& answer) {
        if (answer) {
          const auto data = kube::decode_config_map(*answer);
          const auto rules = parse_leader_election(data.value_or(kube::StringMap{}));
          if (rules) return stand(*rules);
          log_.write(log::Severity::error, "config-leader-election is invalid; the defaults apply",
                     {{"problem", rules.error().what}, {"fix", rules.error().fix}});
          return stand({});
        }
        if (answer.error().status == 404) return stand({});
        log_.write(log::Severity::warning, "config-leader-election cannot be read yet",
                   {{"problem", answer.error().text()}});
        retry_.expires_after(kRulesRetry);
        retry_.async_wait([this](const boost::system::error_code& ec) {
          if (!ec) read_rules();
        });
      });
}

void BucketShare::stand(const LeaderElection& rules) {
  const auto all = bucket_names(rules.buckets);
  forwarder_.emplace(io_, clock_, log_, spec_.self, all,
                     SystemDomain{.space = spec_.space, .domain = spec_.domain},
                     [this](std::span<const proto::StatMessage> ours) { fleet_.pushed(ours); });
  leases_ = std::make_unique<BucketLeases>(
      io_, clock_, random_, log_, client_,
      BucketLeasesSpec{.space = spec_.space, .self = spec_.self, .rules = rules},
      BucketLeases::Events{
          .owned = [this](const std::vector<std::string>& now,
                          std::uint64_t epoch) { owned(now, epoch); },
          .holder =
              [this](const std::string& bucket, const std::optional<Holder>& holder) {
                forwarder_->holder_is(bucket, holder);
              }});
  leases_->start();
}

void BucketShare::owned(const std::vector<std::string>& owned, std::uint64_t epoch) {
  owned_ = owned;
  forwarder_->set_owned(owned);
  events_.owned(leases_->buckets(), owned, epoch);
}

void BucketShare::pushed(std::span<const proto::StatMessage> messages) {
  if (forwarder_) forwarder_->take(messages);
}

void BucketShare::leave(Duration limit, std::function<void()> done) {
  retry_.cancel();
  call_ = {};
  // A claim may be on its way, or a lease still be in our name, though nothing is held now.
  if (leases_ == nullptr) return done();
  leases_->release(limit, std::move(done));
}

std::optional<Holder> BucketShare::elsewhere(const RevisionId& revision) const {
  if (leases_ == nullptr || leases_->buckets().empty()) return std::nullopt;
  const std::string key = revision.space + "/" + revision.name;
  auto holder = leases_->holder(ring::bucket_owner(leases_->buckets(), key));
  if (holder && *holder == spec_.self) holder.reset();
  return holder;
}

std::optional<Holders> BucketShare::holders() const {
  if (leases_ == nullptr) return std::nullopt;
  return holders_of(leases_->buckets(), spec_.self,
                    [this](const std::string& bucket) { return leases_->holder(bucket); });
}

HealthCheck BucketShare::check() const {
  if (leases_ == nullptr) return {"leases", true, "config-leader-election is not read yet"};
  const std::string held = std::to_string(owned_.size()) + " of " +
                           std::to_string(leases_->buckets().size()) + " buckets are held here";
  const std::string problem = leases_->problem();
  return {"leases", true, problem.empty() ? held : held + "; " + problem};
}

void BucketShare::write_metrics(metrics::Families& families) const {
  using metrics::MetricType;
  families.gauge("sluice_autoscaler_buckets_held", "Buckets of revisions that this replica holds.",
                 owned_.size());
  if (leases_ != nullptr) {
    families.counter("sluice_autoscaler_lease_failures_total", "Requests for leases that failed.",
                     leases_->counts().failures);
    families.counter("sluice_autoscaler_buckets_lost_total",
                     "Buckets that were lost without being released.", leases_->counts().lost);
  }
  if (!forwarder_) return;
  const auto counts = forwarder_->counts();
  families.counter("sluice_autoscaler_stats_forwarded_total",
                   "Stats forwarded to the holder of their bucket.", counts.forwarded);
  families.counter("sluice_autoscaler_stats_dropped_total",
                   "Stats that no holder of their bucket accepted in time.", counts.dropped);
}

}  // namespace sluice::autoscaler
