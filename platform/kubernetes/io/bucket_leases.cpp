#include "platform/kubernetes/io/bucket_leases.h"

#include "platform/kubernetes/io/lease_json.h"
#include <algorithm>
#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr int kNotFound = 404;
constexpr int kConflict = 409;

std::string collection(const std::string& space) {
  return "/apis/coordination.k8s.io/v1/namespaces/" + space + "/leases";
}

kube::Verb verb_of(LeaseStep::Kind kind) {
  switch (kind) {
    case LeaseStep::Kind::read:
      return kube::Verb::get;
    case LeaseStep::Kind::create:
      return kube::Verb::create;
    case LeaseStep::Kind::replace:
      return kube::Verb::replace;
  }
  return kube::Verb::get;
}

LeaseAnswer answer_of(const kube::Failure& failure) {
  if (failure.kind != kube::Failure::Kind::refused) return LeaseAnswer::failed;
  if (failure.status == kNotFound) return LeaseAnswer::missing;
  return failure.status == kConflict ? LeaseAnswer::conflict : LeaseAnswer::failed;
}

}  // namespace

BucketLeases::BucketLeases(boost::asio::io_context& io, const Clock& clock, std::mt19937_64& random,
                           const log::Logger& log, kube::Client& client, BucketLeasesSpec spec,
                           Events events)
    : clock_{clock},
      log_{log},
      client_{client},
      spec_{std::move(spec)},
      events_{std::move(events)},
      self_{identity(spec_.self)},
      election_{bucket_names(spec_.rules.buckets), self_, spec_.rules, clock_.now()},
      informer_{{io, clock, random, log, client},
                {.path = collection(spec_.space), .labels = {}, .fields = {}},
                decode_lease,
                {.changed = [this](const kube::ObjectName& name,
                                   const LeaseView& lease) { observed(name, lease); },
                 .gone = [this](const kube::ObjectName& name,
                                const LeaseView& /*last*/) { observed(name, std::nullopt); },
                 .synced = {}}},
      timer_{io},
      release_timer_{io} {}

BucketLeases::~BucketLeases() {
  alive_.end();
}

void BucketLeases::start() {
  informer_.start();
  pump();
}

void BucketLeases::observed(const kube::ObjectName& name, const std::optional<LeaseView>& lease) {
  election_.observed(name.name, lease, clock_.now());
  pump();
}

// Losses are reported before anything is sent: all work for a lost bucket has stopped by then.
void BucketLeases::pump() {
  const std::vector<LeaseStep> steps = election_.steps(clock_.now());
  tell();
  for (const LeaseStep& step : steps) send(step);
  if (releasing_ && election_.released()) finish_release();
  arm();
}

// Half of the time that a holder has, so that a request which hangs can be followed by another.
void BucketLeases::send(const LeaseStep& step) {
  kube::Request request{.verb = verb_of(step.kind),
                        .path = collection(spec_.space),
                        .body = {},
                        .lane = kube::Lane::free,
                        .object = {},
                        .timeout = spec_.rules.renew_deadline / 2};
  if (step.kind != LeaseStep::Kind::create) request.path += "/" + step.bucket;
  if (step.kind != LeaseStep::Kind::read) request.body = encode_lease(step, spec_.space);
  calls_[step.bucket] = client_.send(
      std::move(request), [this, id = step.id, bucket = step.bucket](const kube::Answer& answer) {
        answered(id, bucket, answer);
      });
}

void BucketLeases::answered(std::uint64_t step, const std::string& bucket,
                            const kube::Answer& answer) {
  const TimePoint now = clock_.now();
  if (answer) {
    const std::optional<LeaseView> lease = decode_lease(*answer);
    problem_ = lease ? "" : "the answer for lease " + bucket + " is not a Lease";
    election_.answered(step, lease ? LeaseAnswer::done : LeaseAnswer::failed, lease, now);
  } else {
    const LeaseAnswer how = answer_of(answer.error());
    election_.answered(step, how, std::nullopt, now);
    const std::string before = how == LeaseAnswer::failed ? problem_ : "";
    problem_ = how == LeaseAnswer::failed ? "lease " + bucket + ": " + answer.error().text() : "";
    if (how == LeaseAnswer::failed) ++counts_.failures;
    if (!problem_.empty() && problem_ != before) {
      log_.write(log::Severity::warning, "a request for a lease failed", {{"why", problem_}});
    }
  }
  pump();
}

void BucketLeases::tell() {
  std::vector<std::string> owned = election_.owned(clock_.now());
  if (owned != owned_ || (!owned.empty() && election_.epoch() != told_epoch_)) {
    const std::vector<std::string> before = std::exchange(owned_, std::move(owned));
    told_epoch_ = election_.epoch();
    for (const std::string& bucket : owned_) {
      if (!std::binary_search(before.begin(), before.end(), bucket)) ++counts_.taken;
    }
    for (const std::string& bucket : before) {
      if (std::binary_search(owned_.begin(), owned_.end(), bucket)) continue;
      if (!releasing_) ++counts_.lost;
      log_.write(releasing_ ? log::Severity::info : log::Severity::warning,
                 releasing_ ? "a bucket is released" : "a bucket is lost", {{"bucket", bucket}});
    }
    log_.write(log::Severity::info, "the buckets of this replica have changed",
               {{"held", std::to_string(owned_.size())},
                {"of", std::to_string(buckets().size())},
                {"epoch", std::to_string(told_epoch_)}});
    if (events_.owned) events_.owned(owned_, told_epoch_);
  }
  for (const std::string& bucket : election_.buckets()) {
    const std::string now = election_.holder(bucket);
    std::string& told = holders_[bucket];
    if (now == told) continue;
    told = now;
    const auto read = parse_identity(now);
    if (!now.empty() && !read) {
      log_.write(log::Severity::warning, "the holder of a bucket cannot be read",
                 {{"bucket", bucket}, {"problem", read.error().text()}});
    }
    if (events_.holder) {
      events_.holder(bucket, read ? std::optional<Holder>{*read} : std::nullopt);
    }
  }
}

void BucketLeases::arm() {
  const TimePoint now = clock_.now();
  const auto due = election_.next_due(now);
  if (!due) {
    timer_.cancel();
    return;
  }
  timer_.expires_after(std::max(Duration{0}, *due - now));
  timer_.async_wait([this, alive = alive_.watch()](const boost::system::error_code& ec) {
    if (!ec && !alive.over()) pump();
  });
}

void BucketLeases::release(Duration limit, std::function<void()> done) {
  releasing_ = true;
  on_released_ = std::move(done);
  release_timer_.expires_after(limit);
  release_timer_.async_wait([this, alive = alive_.watch()](const boost::system::error_code& ec) {
    if (!ec && !alive.over()) finish_release();
  });
  election_.release();
  pump();
}

void BucketLeases::finish_release() {
  release_timer_.cancel();
  if (auto done = std::exchange(on_released_, {})) done();
}

std::optional<Holder> BucketLeases::holder(std::string_view bucket) const {
  const auto read = parse_identity(election_.holder(bucket));
  return read ? std::optional<Holder>{*read} : std::nullopt;
}

std::string BucketLeases::problem() const {
  return problem_.empty() ? informer_.state().problem : problem_;
}

}  // namespace sluice::autoscaler
