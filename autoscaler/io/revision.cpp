#include "autoscaler/io/revision.h"

#include "autoscaler/core/activators/stat_intake.h"
#include "common/base/check.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace sluice::autoscaler {
namespace {

// For requests that are refused because a revision is kept at no replicas by hand, or because its
// pods do not start: when that ends is not known.
constexpr std::chrono::seconds kPausedRetry{10};
constexpr std::chrono::seconds kStartFailedRetry{10};

std::string shown(const RevisionId& id) {
  return id.space + "/" + id.name;
}

proto::RouteMode on_the_wire(RouteMode mode) {
  return mode == RouteMode::serve ? proto::RouteMode::serve : proto::RouteMode::proxy;
}

std::int32_t running(const model::Revision& watched) {
  return static_cast<std::int32_t>(
      std::count_if(watched.pods.begin(), watched.pods.end(),
                    [](const model::Pod& pod) { return !pod.terminating; }));
}

// What runs now. An earlier order is the best word on that: pods that it wanted may still be on
// their way, or on their way out. Without one the pods that are there are meant to be. Neither: the
// revision is new and gets its initial scale.
std::optional<std::int32_t> replicas_of(const std::optional<ScaleOrder>& order,
                                        const model::Revision& watched) {
  if (order) return order->replicas;
  const std::int32_t pods = running(watched);
  return pods > 0 ? std::optional{pods} : std::nullopt;
}

}  // namespace

Revision::Revision(Surroundings& surroundings, model::Revision watched, const ScalingSpec& scaling)
    : around_{surroundings},
      facts_{std::move(watched)},
      spacing_{around_.clock.timer()},
      scraper_{around_.stats,
               around_.random,
               {.ended = [this](const ScrapeResult& result) { scrape_ended(result); },
                .answered = [this](const std::string& address,
                                   const Stat& stat) { scrape_answered(address, stat); },
                .flawed = [this] { around_.loop.count_flawed(); }}} {
  begin(scaling);
}

// What runs is all that is known, so that nothing of it is lowered before there is data of it.
void Revision::begin(const ScalingSpec& scaling) {
  scaling_ = scaling;
  const auto order = around_.platform.last(facts_.id);
  removals_ = order ? Removals{order->remove} : Removals{};
  const auto replicas = replicas_of(order, facts_);
  merge(std::exchange(facts_.pods, {}));
  for (PodFacts& pod : pods_) pod.seen = {};
  granted_ = replicas.value_or(0);
  handle_ = around_.loop.add(facts_.id,
                             {.scaling = scaling,
                              .revision = {},
                              .replicas = replicas,
                              .taken_over = replicas.has_value()},
                             counts().ready, *this);
  if (handle_) publish();
}

// The windows, the panic and the number that is wanted belong to the target before, and so does the
// answer to a scrape that is on its way.
void Revision::begin_anew(const ScalingSpec& scaling) {
  around_.loop.remove(*handle_);
  scraper_.give_up();
  scraped_.reset();
  gauges_ = {};
  metrics_missing_ = false;
  begin(scaling);
  CHECK(handle_.has_value());  // its place in the loop was free
}

Revision::~Revision() {
  if (handle_) around_.loop.remove(*handle_);
}

RevisionScaler& Revision::scaler() const {
  return around_.loop.scaler(*handle_);
}

const DecisionRecord& Revision::last() const {
  return scaler().last();
}

std::int32_t Revision::want() const {
  return facts_.chosen.value_or(scaler().want());
}

void Revision::update(model::Revision watched, const ScalingSpec& scaling) {
  // While the target is not there, it is not known to be another one.
  if (watched.target.empty()) watched.target = facts_.target;
  const bool another = !facts_.target.empty() && watched.target != facts_.target;
  facts_ = std::move(watched);
  if (another) {
    begin_anew(scaling);
    return;
  }
  merge(std::exchange(facts_.pods, {}));
  publish();
  update(scaling);
}

void Revision::update(const ScalingSpec& scaling) {
  if (scaling_ == scaling) return;
  scaling_ = scaling;
  scaler().update(scaling, around_.clock.now());
  evaluate(Trigger::change);
}

void Revision::wake() {
  scaler().wake(around_.clock.now());
  evaluate(Trigger::change);
}

void Revision::sleep() {
  scaler().sleep(around_.clock.now());
  evaluate(Trigger::change);
}

void Revision::set_bounds(std::optional<std::int32_t> min, std::optional<std::int32_t> max) {
  scaler().set_bounds(min, max);
  evaluate(Trigger::change);
}

void Revision::merge(std::vector<model::Pod> pods) {
  const TimePoint now = around_.clock.now();
  std::unordered_map<std::string, model::Pod*> told;
  for (model::Pod& pod : pods) told.emplace(pod.id.name, &pod);
  std::erase_if(pods_,
                [&told](const PodFacts& pod) { return !told.contains(pod.watched.id.name); });
  for (PodFacts& pod : pods_) {
    const auto found = told.find(pod.watched.id.name);
    // Another address is another pod of that name.
    if (pod.watched.address != found->second->address) pod = {.watched = {}, .seen = now};
    pod.watched = std::move(*found->second);
    told.erase(found);
  }
  for (model::Pod& pod : pods) {
    if (told.contains(pod.id.name)) pods_.push_back({.watched = std::move(pod), .seen = now});
  }
  for (PodFacts& pod : pods_) {
    if (!pod.watched.ready) {
      pod.ready_since.reset();
    } else if (!pod.ready_since) {
      pod.ready_since = now;
    }
  }
}

bool Revision::leaving(const PodFacts& pod) const {
  return pod.watched.terminating || removals_.leaving(pod.watched.id);
}

bool Revision::throttled(const PodFacts& pod) const {
  return around_.nodes.throttled(facts_.id.space, pod.watched.id.name, pod.watched.node);
}

Revision::Counts Revision::counts() const {
  Counts counts;
  for (const PodFacts& pod : pods_) {
    counts.terminating += pod.watched.terminating ? 1 : 0;
    if (leaving(pod)) {
      ++counts.leaving;
    } else if (throttled(pod)) {
      ++counts.throttled;
    } else if (pod.watched.ready) {
      ++counts.ready;
    } else {
      ++counts.starting;
    }
  }
  return counts;
}

void Revision::on_due(bool evaluate_too) {
  scrape();
  if (evaluate_too) {
    evaluate(Trigger::tick);
  } else if (removals_.awaited()) {
    release();
  }
}

void Revision::on_wanted() {
  evaluate(Trigger::poke);
}

void Revision::on_applied() {
  if (removals_.awaited()) release();
}

std::optional<Duration> Revision::proxied_for() const {
  if (!facts_.proxied_since) return std::nullopt;
  if (*facts_.proxied_since == TimePoint::min()) return Duration::max();
  return std::max(Duration{0}, around_.clock.now() - *facts_.proxied_since);
}

// A probe that fails is asked for again by the next evaluation, two seconds later.
void Revision::probe() {
  if (std::exchange(probing_, true)) return;
  around_.platform.probe(facts_.id, [this, alive = alive_.watch()](bool ok) {
    if (alive.over()) return;
    probing_ = false;
    evaluate(Trigger::change, ok);
  });
}

void Revision::evaluate(Trigger trigger, std::optional<bool> probe_ok) {
  ScaleInputs inputs;
  inputs.trigger = trigger;
  inputs.ready = counts().ready;
  inputs.activator_connected = around_.activator_connected();
  inputs.proxy_for = proxied_for();
  inputs.probe_ok = inputs.proxy_for == Duration::max() ? std::optional{true} : probe_ok;
  const ScaleState state = scaler().evaluate(inputs, around_.clock.now());
  activators_ = state.activators;
  metrics_missing_ = state.metrics_missing;
  const DecisionRecord& record = state.record;
  if (record.valid) {
    gauges_ = {.known = true,
               .desired = record.desired,
               .excess_burst_capacity = static_cast<double>(record.excess_burst_capacity),
               .panic = record.mode == Mode::panic,
               .metric = record.metric,
               .stable = record.stable,
               .window_panic = record.panic,
               .target = record.target};
  }
  if (state.changed) {
    around_.events.decided(facts_, record);
    around_.log.write(log::Severity::info, "decision",
                      {{"revision", shown(facts_.id)},
                       {"trigger", std::string{name(record.trigger)}},
                       {"ready", std::to_string(record.ready)},
                       {"replicas", std::to_string(record.bounded)},
                       {"mode", std::string{name(record.mode)}},
                       {"bound_by", std::string{name(record.bound_by)}},
                       {"why", why(record)}});
  }
  publish();
  if (state.probe) probe();
}

std::vector<std::string> Revision::avoided() const {
  std::vector<std::string> addresses;
  for (const PodFacts& pod : pods_) {
    if (!pod.watched.address) continue;
    if (leaving(pod) || throttled(pod)) addresses.push_back(pod.watched.address->text());
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  if (addresses.size() > proto::kAvoidMax) addresses.resize(proto::kAvoidMax);
  return addresses;
}

// Room on the nodes bounds growth and takes nothing back.
NodeBook::Granted Revision::grant(std::int32_t want) {
  const TimePoint now = around_.clock.now();
  const auto settled = std::count_if(pods_.begin(), pods_.end(), [this, now](const PodFacts& pod) {
    return !leaving(pod) && now - pod.seen >= kClaimKept;
  });
  const NodeBook::Granted granted =
      around_.nodes.grant(facts_.id, {.wanted = want,
                                      .ordered = std::min(want, granted_),
                                      .settled = static_cast<std::int32_t>(settled),
                                      .now = now});
  granted_ = granted.replicas;
  if (granted.spaced) ask_again();
  if (granted.bounded != std::exchange(bounded_, granted.bounded)) {
    around_.log.write(
        granted.bounded ? log::Severity::warning : log::Severity::info,
        granted.bounded ? "the nodes have no room for what is wanted" : "the nodes have room again",
        {{"revision", shown(facts_.id)},
         {"wanted", std::to_string(want)},
         {"granted", std::to_string(granted_)},
         {"free_bytes", std::to_string(granted.free)}});
    if (granted.bounded) {
      around_.events.warn(facts_, "the nodes have no room for what is wanted",
                          "free memory on the nodes, or add one");
    }
  }
  return granted;
}

// What somebody chose runs whatever there is room for: it was his choice.
NodeBook::Granted Revision::take_choice(std::int32_t chosen) {
  around_.nodes.forget(facts_.id);
  granted_ = chosen;
  bounded_ = false;
  return {.replicas = chosen};
}

// Nobody serves who is reached past the activators when there is to be nobody.
RouteMode Revision::route_mode() const {
  return facts_.chosen == 0 ? RouteMode::proxy : scaler().last().route_mode;
}

// The rest of what was granted one at a time.
void Revision::ask_again() {
  spacing_->after(kStartSpacing, [this] { publish(); });
}

// One pod that is ready or may become so is hope for requests that wait, even one that is too many:
// it may be of a corrected template. So is no pod at all.
std::string Revision::failing_start() const {
  const PodFacts* failed = nullptr;
  for (const PodFacts& pod : pods_) {
    if (pod.watched.ready) return {};
    if (pod.watched.terminating) continue;
    if (pod.watched.failed.empty()) return {};
    if (failed == nullptr && !leaving(pod)) failed = &pod;
  }
  return failed == nullptr ? std::string{} : failed->watched.failed;
}

void Revision::note_start_failure() {
  std::string failure = failing_start();
  if (failure.empty() != start_failure_.empty()) {
    around_.log.write(
        failure.empty() ? log::Severity::info : log::Severity::warning,
        failure.empty() ? "its pods no longer fail to start" : "its pods fail to start",
        {{"revision", shown(facts_.id)}, {"why", failure.empty() ? start_failure_ : failure}});
  }
  start_failure_ = std::move(failure);
}

std::optional<proto::CannotScale> Revision::cannot_scale() const {
  using Reason = proto::CannotScaleReason;
  if (facts_.chosen == 0) {
    return proto::CannotScale{.reason = Reason::paused,
                              .detail = "it is kept at no replicas by hand",
                              .retry_after = kPausedRetry};
  }
  if (!start_failure_.empty()) {
    std::string detail = "the service fails to start: " + start_failure_;
    detail.resize(std::min(detail.size(), proto::kDetailBytesMax));
    return proto::CannotScale{.reason = Reason::start_failed,
                              .detail = std::move(detail),
                              .retry_after = kStartFailedRetry};
  }
  if (!shortage_.empty()) {
    return proto::CannotScale{.reason = Reason::node_pressure,
                              .detail = shortage_,
                              .retry_after = proto::kReportInterval};
  }
  return std::nullopt;
}

// The activators first: only what they no longer choose may be stopped.
void Revision::publish() {
  std::vector<RemovalCandidate> candidates;
  candidates.reserve(pods_.size());
  for (const PodFacts& pod : pods_) {
    candidates.push_back({.id = pod.watched.id,
                          .ready = pod.watched.ready && !throttled(pod),
                          .terminating = pod.watched.terminating,
                          .failed = !pod.watched.failed.empty(),
                          .load = pod.load});
  }
  const std::int32_t wanted = want();
  const NodeBook::Granted granted = facts_.chosen ? take_choice(wanted) : grant(wanted);
  removals_.plan(candidates, granted.replicas);

  proto::RevisionState state;
  state.revision = facts_.id;
  state.desired = wanted;
  shortage_.clear();
  if (granted.bounded) shortage_ = memory_shortage(granted.free, kDefaultClaim);
  note_start_failure();
  // Replicas that fail to start stay ordered, and to the activators are none: nothing is to wait
  // for them.
  state.granted = start_failure_.empty() ? granted.replicas : 0;
  state.cannot_scale = cannot_scale();
  state.ready = counts().ready;
  state.route_mode = on_the_wire(route_mode());
  // Fewer than there should be are all there are.
  const auto there = static_cast<std::int32_t>(around_.hub.connected());
  state.activators = std::min(activators_, std::max(1, there));
  state.avoid = avoided();
  removals_.told(around_.hub.set_state(std::move(state), around_.clock.now()));
  around_.news();
  release();
  around_.events.changed(*this);
}

void Revision::release() {
  const TimePoint now = around_.clock.now();
  removals_.release(
      [this, now](std::uint64_t version) { return around_.hub.applied(facts_.id, version, now); });
  around_.platform.apply(facts_.id, {.replicas = granted_,
                                     .remove = removals_.released(),
                                     .route_mode = route_mode(),
                                     .activators = activators_,
                                     .avoid = avoided(),
                                     .report = report()});
}

ScaleReport Revision::report() const {
  const DecisionRecord& record = scaler().last();
  if (facts_.chosen) {
    const std::int32_t ready = counts().ready;
    const Activity waiting = granted_ == 0 ? Activity::inactive : Activity::activating;
    return {.desired = want(),
            .granted = granted_,
            .ready = ready,
            .activity = granted_ > 0 && ready > 0 ? Activity::active : waiting,
            .metrics_missing = metrics_missing_,
            .paused = true,
            .start_failed = start_failure_,
            .why = "that many were chosen by hand"};
  }
  return {.desired = want(),
          .granted = granted_,
          .ready = counts().ready,
          .activity = scaler().activity(),
          .metrics_missing = metrics_missing_,
          .bound_by = record.bound_by,
          .cannot_scale = shortage_,
          .start_failed = start_failure_,
          .why = why(record)};
}

void Revision::scrape() {
  const DeciderSpec& spec = scaler().spec().decider;
  if (!spec.has_scrape_target) return;
  std::vector<Pod> pods;
  for (const PodFacts& pod : pods_) {
    if (!pod.watched.ready || !pod.watched.stats || pod.watched.terminating) continue;
    pods.push_back({.id = pod.watched.id,
                    .address = pod.watched.stats->text(),
                    .phase = PodPhase::running,
                    .ready = true,
                    .started_at = pod.ready_since});
  }
  scrape_began_ = around_.clock.now();
  scraper_.start(pods, spec.stable_window, scrape_began_);
}

void Revision::scrape_answered(const std::string& address, const Stat& stat) {
  const auto pod = std::find_if(pods_.begin(), pods_.end(), [&address](const PodFacts& each) {
    return each.watched.stats && each.watched.stats->text() == address;
  });
  if (pod != pods_.end()) pod->load = stat.average_concurrency;
}

void Revision::scrape_ended(const ScrapeResult& result) {
  const TimePoint now = around_.clock.now();
  const Duration took = std::max(Duration{0}, now - scrape_began_);
  scrape_seconds_.observe(metrics::kSeconds.find(took.count()), took.count());
  if (result && *result) {
    scraped_ = **result;
    scaler().scraped(**result, now);
  }
  const auto error = result ? std::nullopt : std::optional{result.error()};
  if (!scrape_health_.scraped(error)) return;
  around_.log.write(error ? log::Severity::warning : log::Severity::info,
                    error ? describe(*error) : "scrapes succeed again",
                    {{"revision", shown(facts_.id)}});
}

}  // namespace sluice::autoscaler
