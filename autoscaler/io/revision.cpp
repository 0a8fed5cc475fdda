#include "autoscaler/io/revision.h"

#include "autoscaler/core/activators/stat_intake.h"
#include "common/base/check.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace sluice::autoscaler {
namespace {

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

Revision::Revision(Surroundings& surroundings, model::Revision watched,
                   const ResolvedScaling& scaling)
    : around_{surroundings},
      facts_{std::move(watched)},
      again_{around_.clock.timer()},
      scraper_{around_.stats,
               around_.random,
               {.ended = [this](const ScrapeResult& result) { scrape_ended(result); },
                .answered = [this](const std::string& address,
                                   const Stat& stat) { scrape_answered(address, stat); },
                .flawed = [this] { around_.loop.count_flawed(); }}},
      recording_{around_.recordings != nullptr ? std::make_unique<Recording>(*around_.recordings)
                                               : nullptr} {
  begin(scaling);
}

// What runs is all that is known, so that nothing of it is lowered before there is data of it. Nor
// is the number that another revision had, whose place this one takes.
void Revision::begin(const ResolvedScaling& scaling) {
  scaling_ = scaling.spec;
  const auto order = around_.platform.last(facts_.id);
  removals_ = order ? Removals{order->remove} : Removals{};
  const bool told = facts_.initial.has_value();
  const auto replicas = told ? facts_.initial : replicas_of(order, facts_);
  merge(std::exchange(facts_.pods, {}));
  for (PodFacts& pod : pods_) pod.seen = {};
  granted_ = replicas.value_or(0);
  handle_ = around_.loop.add(facts_.id,
                             {.scaling = scaling_,
                              .revision = {},
                              .replicas = replicas,
                              .taken_over = told ? *replicas > 0 : replicas.has_value()},
                             counts().ready, *this);
  if (!handle_) return;
  if (recording_) {
    recording_->begin_again();
    recording_->note_given(scaling.given);
    scaler().record_to(recording_.get());
  }
  if (facts_.initial.value_or(0) > 0) scaler().wake(around_.clock.now(), true);
  publish();
}

// The windows, the panic and the number that is wanted belong to the target before, and so does the
// answer to a scrape that is on its way.
void Revision::restart(const ResolvedScaling& scaling) {
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

DecisionRecord Revision::last() const {
  DecisionRecord record = scaler().last();
  record.revision = facts_.id.name;  // before the first evaluation too
  if (shortage_ && !by_hand()) {
    limit_by_capacity(record, std::min(record.bounded, granted_), shortage_->why.detail);
  } else {
    record.granted = granted_;
  }
  record.places = places_;
  return record;
}

std::int32_t Revision::want() const {
  return facts_.retired ? 0 : facts_.chosen.value_or(scaler().want());
}

void Revision::update(model::Revision watched, const ResolvedScaling& scaling) {
  // While the target is not there, it is not known to be another one.
  if (watched.target.empty()) watched.target = facts_.target;
  const bool another = !facts_.target.empty() && watched.target != facts_.target;
  facts_ = std::move(watched);
  if (another) {
    restart(scaling);
    return;
  }
  merge(std::exchange(facts_.pods, {}));
  publish();
  update(scaling);
}

void Revision::update(const ResolvedScaling& scaling) {
  if (recording_) recording_->note_given(scaling.given);
  if (scaling_ == scaling.spec) return;
  scaling_ = scaling.spec;
  scaler().update(scaling_, around_.clock.now());
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

void Revision::heed_held(Duration oldest) {
  const TimePoint now = around_.clock.now();
  scaler().note_time(now);
  const std::optional<TimePoint> slept_at = scaler().slept_at();
  if (!slept_at || now - oldest <= *slept_at) return;
  around_.loop.push(facts_.id, {.average_concurrency = 1, .request_count = 1}, std::nullopt,
                    StatDoor::stream);
}

void Revision::set_bounds(std::optional<std::int32_t> min, std::optional<std::int32_t> max) {
  scaler().set_bounds(min, max);
  evaluate(Trigger::change);
}

void Revision::merge(std::vector<model::Pod> pods) {
  const TimePoint now = around_.clock.now();
  note_leaving();
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
  note_replicas();
}

void Revision::note_leaving() {
  if (!recording_) return;
  for (const PodFacts& pod : pods_) {
    if (leaving(pod)) replica_watch_.leaves(pod.watched.id.name);
  }
}

void Revision::note_replicas() {
  if (!recording_) return;
  std::vector<ReplicaWatch::Seen> seen;
  for (const PodFacts& pod : pods_) seen.push_back({pod.watched.id.name, pod.watched.ready});
  note_leaving();
  for (const ReplicaNote& note : replica_watch_.look(seen, around_.clock.now())) {
    recording_->note(note);
  }
}

bool Revision::leaving(const PodFacts& pod) const {
  return pod.watched.terminating || removals_.leaving(pod.watched.id) ||
         (is_avoided(pod) && pod.watched.node == move_->from);
}

bool Revision::is_avoided(const PodFacts& pod) const {
  return move_ && std::find(move_->orders.avoid.begin(), move_->orders.avoid.end(),
                            pod.watched.id) != move_->orders.avoid.end();
}

bool Revision::throttled(const PodFacts& pod) const {
  return around_.throttled.throttled(facts_.id.space, pod.watched.id.name, pod.watched.node);
}

Revision::Counts Revision::counts() const {
  Counts counts;
  for (const PodFacts& pod : pods_) {
    counts.terminating += pod.watched.terminating ? 1 : 0;
    if (leaving(pod)) {
      ++counts.leaving;
    } else if (throttled(pod)) {
      ++counts.throttled;
    } else if (pod.watched.ready && !is_avoided(pod)) {
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
  // What another revision has taken over from only gives its replicas up.
  if (facts_.retired || (facts_.chosen && !facts_.in_service)) return;
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
  take_room();
  const DecisionRecord granted = last();
  if (limit_is_news(granted) || state.changed) tell(granted);
  announce();
  if (state.probe) probe();
}

// A decision is reported again when what is granted of it changes.
bool Revision::limit_is_news(const DecisionRecord& record) {
  const bool limited = record.bound_by == Bound::capacity;
  const bool before = std::exchange(told_limit_, limited);
  const std::int32_t granted = std::exchange(told_granted_, record.granted);
  return limited != before || (limited && record.granted != granted);
}

void Revision::tell(const DecisionRecord& record) {
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

std::vector<std::string> Revision::avoided() const {
  std::vector<std::string> addresses;
  for (const PodFacts& pod : pods_) {
    if (!pod.watched.address) continue;
    if (leaving(pod) || throttled(pod) || is_avoided(pod))
      addresses.push_back(pod.watched.address->text());
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  if (addresses.size() > proto::kAvoidMax) addresses.resize(proto::kAvoidMax);
  return addresses;
}

// A pod reached past the activators does not count as serving when none is wanted.
RouteMode Revision::route_mode() const {
  return facts_.chosen == 0 ? RouteMode::proxy : scaler().last().route_mode;
}

// The activators first: only what they no longer choose may be stopped.
void Revision::publish() {
  take_room();
  DecisionRecord record = last();
  if (limit_is_news(record)) {
    record.time = around_.clock.now();
    tell(record);
  }
  announce();
}

void Revision::announce() {
  if (!move_) removals_.plan(candidates(), granted_, places_);
  note_start_failure();

  proto::RevisionState state;
  state.revision = facts_.id;
  state.desired = want();
  // Replicas that fail to start stay ordered, and to the activators are none: nothing is to wait
  // for them.
  state.granted = refuses_starts() ? 0 : granted_;
  state.cannot_scale = cannot_scale();
  state.ready = counts().ready;
  state.route_mode = on_the_wire(route_mode());
  // Fewer than there should be are all there are.
  const auto there = static_cast<std::int32_t>(around_.hub.connected());
  state.activators = std::min(activators_, std::max(1, there));
  state.avoid = avoided();
  const std::uint64_t version = around_.hub.set_state(std::move(state), around_.clock.now());
  removals_.told(version);
  note_avoided(version);
  around_.news();
  release();
  around_.events.changed(*this);
}

void Revision::release() {
  const TimePoint now = around_.clock.now();
  removals_.release(
      [this, now](std::uint64_t version) { return around_.hub.applied(facts_.id, version, now); });
  std::vector<placement::PlaceShare> places = ordered_places();
  std::int32_t replicas = move_ ? 0 : granted_;
  if (move_) {
    for (const placement::PlaceShare& share : places) replicas += share.replicas;
  }
  around_.platform.apply(facts_.id,
                         {.replicas = replicas,
                          .places = std::move(places),
                          .remove = removable(),
                          .overdue = move_ ? move_->orders.overdue : std::vector<PodId>{},
                          .shifting = shifting(),
                          .beside = move_ ? std::max(0, replicas - granted_) : 0,
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
            .why = "the number was set by hand"};
  }
  return {.desired = want(),
          .granted = granted_,
          .ready = counts().ready,
          .activity = scaler().activity(),
          .metrics_missing = metrics_missing_,
          .bound_by = record.bound_by,
          .cannot_scale = shortage_ ? shortage_->why.detail : std::string{},
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
