#include "programs/sluice/simulation/loop.h"

#include "common/base/lifetime.h"

#include <algorithm>
#include <utility>

namespace sluice::simulation {

using std::chrono::seconds;

namespace {

// The longest queue of the slowest world is served within this.
constexpr Duration kBacklogMax = std::chrono::hours{6};

// Where a pod serves and is scraped.
net::Address address_of(std::uint64_t number) {
  return {.host = "10.0.0.1", .port = static_cast<std::uint16_t>(number % 60'000 + 1), .path = {}};
}

// A question whose answer is not waited for when it is gone.
class AskedPod final : public autoscaler::StatSource::Question {
 public:
  [[nodiscard]] Lifetime::Watch watch() const { return alive_.watch(); }

 private:
  Lifetime alive_;
};

}  // namespace

Loop::Loop(World world)
    : world_(std::move(world)),
      random_(world_.seed),
      throttler_({.container_concurrency = world_.container_concurrency,
                  .queue_depth = world_.queue_depth,
                  .policy = {},
                  .seed = world_.seed}),
      handle_(reporter_.open(world_.revision)),
      // For so long that no activator of an earlier start holds up a removal.
      hub_({"autoscaler-0", "1"}, {}, start_ - std::chrono::minutes{1}),
      around_{.clock = clock_,
              .stats = *this,
              .log = log_,
              .loop = scale_loop_,
              .hub = hub_,
              .placement = placement_,
              .throttled = nodes_,
              .platform = *this,
              .events = events_,
              .random = random_,
              .activator_connected = [] { return true; },
              .news = [this] { put_in_force(); }} {
  if (world_.from) begin_with_replicas();
  revision_ = std::make_unique<autoscaler::Revision>(
      around_, facts(), autoscaler::ResolvedScaling{.spec = world_.scaling});
  if (!world_.from) return;
  scale_loop_.scaler(*scale_loop_.find(world_.revision)).restore(world_.from->state, start_);
  pods_changed();
}

void Loop::begin_with_replicas() {
  for (std::int32_t i = 0; i < world_.from->replicas; ++i) {
    pods_.emplace(next_pod_++, Pod{.phase = PodPhase::ready, .stats = load::RequestStats{start_}});
  }
  order_ = autoscaler::ScaleOrder{.replicas = world_.from->replicas};
  outcome_.pods_max = world_.from->replicas;
}

Loop::~Loop() = default;

Outcome Loop::run() {
  plan_arrival();
  plan_happening();
  after(seconds{1}, [this] { second(); });
  while (outcome_.breach.empty() && !rests() && time_.step(end())) {
    if (open_requests() > 0 || loaded()) last_open_ = now();
    watch_waiting();
  }
  count_pods();
  outcome_.pods_at_end = static_cast<std::int32_t>(pods_.size());
  outcome_.left = open_requests();
  outcome_.length = now() - start_;
  return outcome_;
}

bool Loop::loaded() const {
  return !load_ended_ && now() < start_ + world_.length;
}

TimePoint Loop::end() const {
  if (world_.until) return start_ + *world_.until;
  const TimePoint quiet = last_open_ + world_.quiet;
  return std::min(quiet, load_ended_.value_or(start_ + world_.length) + kBacklogMax);
}

bool Loop::rests() const {
  return world_.rest && !world_.until && !loaded() && open_requests() == 0 && order_ &&
         order_->replicas == *world_.rest && pods_.size() == static_cast<std::size_t>(*world_.rest);
}

void Loop::plan_happening() {
  const auto next = world_.happenings ? world_.happenings() : std::nullopt;
  if (!next) return;
  after(start_ + next->at - now(), [this, happening = *next] {
    happen(happening);
    plan_happening();
  });
}

void Loop::happen(const Happening& happening) {
  struct Happen {
    Loop& loop;

    void operator()(const NewScaling& given) const {
      loop.world_.scaling = given.scaling;
      loop.revision_->update({.spec = given.scaling});
    }

    void operator()(const autoscaler::BoundsInput& bounds) const {
      loop.revision_->set_bounds(bounds.min, bounds.max);
    }

    void operator()(const OrderToWake& /*order*/) const { loop.revision_->wake(); }

    void operator()(const OrderToSleep& /*order*/) const { loop.revision_->sleep(); }

    void operator()(const LostReplica& /*lost*/) const { loop.kill_one(); }

    void operator()(const Room& room) const {
      loop.site_.limit(room.replicas);
      loop.revision_->on_room_changed();
    }

    void operator()(const Standstill& stands) const { loop.time_.skip(stands.length); }
  };

  std::visit(Happen{*this}, happening.what);
}

// The arrival after this one is planned first, as the traffic draws from the generator of all.
void Loop::plan_arrival() {
  const auto next = world_.traffic(now() - start_, random_);
  if (!next) {
    load_ended_ = now();
    return;
  }
  next_ = *next;
  after(start_ + next_.at - now(), [this] { arrive(); });
}

void Loop::arrive() {
  if (!loaded()) return;
  const NextArrival arrival = next_;
  plan_arrival();
  if (arrival.comes) enter(arrival);
}

void Loop::enter(const NextArrival& arrival) {
  if (free_.empty()) {
    free_.push_back(requests_.size());
    requests_.emplace_back();
  }
  const std::uint64_t request = free_.back();
  free_.pop_back();
  requests_[request] = {.since = now(), .service = arrival.service};
  ++outcome_.sent;
  const bool poke = reporter_.in(handle_, now());
  const activator::Entered entered = throttler_.enter(now(), request);
  if (entered.entry == breaker::Entry::refused) {
    const bool room = throttler_.waiting() < throttler_.waiting_max();
    if (room && entered.error == Error::queue_full) breach("refused with room to wait");
    refuse(request);
  } else if (entered.entry == breaker::Entry::admitted) {
    run_on(request, entered.pod);
  } else if (throttler_.pods() == 0 && !std::exchange(cold_, true)) {
    ++outcome_.cold_starts;
  }
  if (throttler_.waiting() > world_.queue_depth) breach("more wait than the queue is deep");
  if (!poke) return;
  const activator::RevisionStat stat = reporter_.poke(handle_);
  push({.average_concurrency = stat.average_concurrent_requests,
        .request_count = stat.request_count},
       std::nullopt);
}

void Loop::refuse(std::uint64_t request) {
  ++outcome_.refused;
  reporter_.out(handle_, now());
  free_.push_back(request);
}

void Loop::run_on(std::uint64_t request, activator::PodRef ref) {
  const std::uint64_t number = std::stoull(throttler_.pod_id(ref).name);
  const auto pod = pods_.find(number);
  if (pod == pods_.end() || pod->second.phase != PodPhase::ready) {
    return breach("admitted to a pod that is not ready");
  }
  Request& runs = requests_[request];
  runs.pod = ref;
  runs.pod_number = number;
  runs.running = true;
  outcome_.waits.record(now() - runs.since);
  pod->second.stats.proxied_in(now());
  pod->second.running.push_back(request);
  const auto in_flight = static_cast<std::int32_t>(pod->second.running.size());
  const std::int32_t limit = world_.container_concurrency;
  if (limit > 0 && in_flight > limit) breach("containerConcurrency exceeded");
  const Duration takes = runs.service ? *runs.service : world_.service.draw(random_);
  after(takes, [this, request] { finish(request); });
}

void Loop::admit(const std::vector<activator::Admission>& admitted) {
  for (const activator::Admission& one : admitted) run_on(one.cookie, one.pod);
}

void Loop::finish(std::uint64_t index) {
  Request& request = requests_[index];
  free_.push_back(index);
  if (!std::exchange(request.running, false)) return;  // it was cut
  ++outcome_.answered;
  reporter_.out(handle_, now());
  Pod& pod = pods_.at(request.pod_number);
  pod.stats.proxied_out(now());
  *std::find(pod.running.begin(), pod.running.end(), index) = pod.running.back();
  pod.running.pop_back();
  const std::uint64_t number = request.pod_number;
  std::vector<activator::Admission> admitted;
  throttler_.leave(request.pod, admitted);
  admit(admitted);
  drop_if_drained(number);
}

void Loop::pod_ready(std::uint64_t number) {
  const auto pod = pods_.find(number);
  if (pod == pods_.end() || pod->second.phase != PodPhase::starting) return;
  const bool crashes = now() < start_ + world_.healed;
  if (crashes && world_.failed_starts > 0 && chance() < world_.failed_starts) return die(number);
  pod->second.phase = PodPhase::ready;
  if (crashes && world_.life) {
    after(world_.life->draw(random_), [this, number] { die(number); });
  }
  cold_ = false;
  pods_changed();
}

void Loop::second() {
  after(seconds{1}, [this] { second(); });
  // A pod that exits restarts the stable window, so quiet means that no pod is killed either.
  if (chance() < world_.kills_per_second && loaded()) kill_one();
  report();
}

void Loop::report() {
  std::vector<activator::RevisionStat> stats;
  reporter_.report(now(), stats);
  for (const activator::RevisionStat& stat : stats) {
    if (chance() < world_.stat_loss) continue;
    const autoscaler::Stat sent{.average_concurrency = stat.average_concurrent_requests,
                                .request_count = stat.request_count};
    after(world_.stat_delay.draw(random_), [this, sent, at = now()] { push(sent, at); });
  }
}

void Loop::push(const autoscaler::Stat& stat, std::optional<TimePoint> at) {
  scale_loop_.push(world_.revision, stat, at, autoscaler::StatDoor::stream);
}

// --- what the engine requests and reports ---

std::unique_ptr<autoscaler::StatSource::Question> Loop::ask(const std::string& address,
                                                            Answered answered) {
  auto question = std::make_unique<AskedPod>();
  const bool lost = chance() < world_.stat_loss;
  after(Duration{0}, [this, alive = question->watch(), address, lost, answered] {
    if (alive.over()) return;
    const auto pod = std::find_if(pods_.begin(), pods_.end(), [&address](const auto& each) {
      return address_of(each.first).text() == address;
    });
    if (lost || pod == pods_.end()) return answered(autoscaler::ScrapeError::unreachable);
    const load::LoadReport seen = pod->second.stats.report(now());
    answered(autoscaler::Stat{seen.average_concurrency, seen.average_proxied_concurrency,
                              seen.request_count, seen.proxied_request_count});
  });
  return question;
}

std::optional<Problem> Loop::open(model::Listener& /*listener*/, TimePoint /*now*/,
                                  Settled settled) {
  settled(std::nullopt);
  return std::nullopt;
}

std::optional<autoscaler::ScaleOrder> Loop::last(const RevisionId& /*revision*/) {
  return order_;
}

void Loop::probe(const RevisionId& /*revision*/, std::function<void(bool ok)> done) {
  done(true);
}

void Loop::apply(const RevisionId& /*revision*/, const autoscaler::ScaleOrder& order) {
  if (revision_) check(order);
  const std::int32_t before = order_ ? order_->replicas : 0;
  if (before == 0 && order.replicas > 0) ++outcome_.wakes;
  if (before > 0 && order.replicas == 0) ++outcome_.sleeps;
  const bool other =
      !order_ || order_->replicas != order.replicas || order_->remove != order.remove;
  order_ = order;
  if (other) after(Duration{0}, [this] { obey(); });
}

// Once for each evaluation: an order may follow from something else.
void Loop::check(const autoscaler::ScaleOrder& order) {
  const autoscaler::DecisionRecord record = revision_->last();
  if (record.time < start_ || checked_ == record.time) return;
  checked_ = record.time;
  const autoscaler::ScaleState state{.record = record,
                                     .want = order.report.desired,
                                     .activators = order.activators,
                                     .route_mode = order.route_mode,
                                     .requeue = {},
                                     .activity = order.report.activity};
  const bool panics = record.mode == autoscaler::Mode::panic;
  if (panics && !panics_) ++outcome_.panics;
  panics_ = panics;
  const std::int32_t before = std::exchange(want_, state.want);
  if (!world_.judge) return;
  const std::string broken = world_.judge(
      state,
      {.want_before = before, .in_flight = open_requests(), .waiting = throttler_.waiting()});
  if (!broken.empty()) breach(broken);
}

void Loop::put_in_force() {
  const proto::RevisionState& state = *hub_.state(world_.revision);
  std::vector<activator::Dismissal> dismissed;
  throttler_.set_grant({state.desired, state.granted, state.cannot_scale.has_value()}, dismissed);
  outcome_.dismissed += dismissed.size();
  for (const activator::Dismissal& one : dismissed) refuse(one.cookie);
}

// --- pods ---

model::Revision Loop::facts() const {
  model::Revision facts;
  facts.id = world_.revision;
  facts.service = "app";
  if (!world_.from) facts.initial = 0;
  for (const auto& [number, pod] : pods_) {
    const net::Address address = address_of(number);
    facts.pods.push_back({.id = {std::to_string(number)},
                          .address = address,
                          .stats = address,
                          .ready = pod.phase == PodPhase::ready,
                          .terminating = pod.phase == PodPhase::draining});
  }
  return facts;
}

void Loop::obey() {
  const std::size_t before = pods_.size();
  bool changed = false;
  for (const PodId& pod : order_->remove) {
    const auto found = pods_.find(std::stoull(pod.name));
    if (found == pods_.end() || found->second.phase == PodPhase::draining) continue;
    changed = true;
    drain(found->first);
  }
  while (wanted_pods() < order_->replicas) start_pod();
  outcome_.pods_max = std::max(outcome_.pods_max, static_cast<std::int32_t>(pods_.size()));
  if (changed || pods_.size() != before) pods_changed();
}

void Loop::start_pod() {
  const std::uint64_t number = next_pod_++;
  count_pods();
  pods_.emplace(number, Pod{.stats = load::RequestStats{now()}});
  const Duration takes = started_ < world_.first_starts.size() ? world_.first_starts[started_++]
                                                               : world_.start.draw(random_);
  after(takes, [this, number] { pod_ready(number); });
}

void Loop::drain(std::uint64_t number) {
  pods_.at(number).phase = PodPhase::draining;
  drop_if_drained(number);
}

void Loop::kill_one() {
  std::vector<std::uint64_t> ready;
  for (const auto& [number, pod] : pods_) {
    if (pod.phase == PodPhase::ready) ready.push_back(number);
  }
  if (ready.empty()) return;
  die(ready[random_() % ready.size()]);
}

// Another one is started in its place, by the platform that starts pods.
void Loop::die(std::uint64_t number) {
  const auto pod = pods_.find(number);
  if (pod == pods_.end()) return;  // stopped before
  ++outcome_.deaths;
  std::vector<std::uint64_t> cut = std::exchange(pod->second.running, {});
  std::sort(cut.begin(), cut.end());
  std::vector<activator::Admission> admitted;
  (void)throttler_.remove_pod({std::to_string(number)}, admitted);
  count_pods();
  pods_.erase(pod);
  for (const std::uint64_t index : cut) {
    Request& request = requests_[index];
    request.running = false;
    ++outcome_.cut;
    reporter_.out(handle_, now());
    throttler_.leave(request.pod, admitted);
  }
  admit(admitted);
  pods_changed();
  after(Duration{0}, [this] { obey(); });
}

void Loop::drop_if_drained(std::uint64_t number) {
  const auto pod = pods_.find(number);
  if (pod == pods_.end() || pod->second.phase != PodPhase::draining) return;
  if (!pod->second.running.empty()) return;
  count_pods();
  pods_.erase(pod);
  after(Duration{0}, [this] { pods_changed(); });
}

// The door and the engine see the pods.
void Loop::pods_changed() {
  std::vector<activator::PodState> list;
  for (const auto& [number, pod] : pods_) {
    if (pod.phase == PodPhase::ready) list.push_back({.id = {std::to_string(number)}});
  }
  std::vector<activator::Admission> admitted;
  throttler_.set_pods(list, admitted);
  admit(admitted);
  revision_->update(facts(), {.spec = world_.scaling});
}

// Before their number changes.
void Loop::count_pods() {
  outcome_.pod_seconds += to_seconds(now() - counted_) * static_cast<double>(pods_.size());
  counted_ = now();
}

void Loop::watch_waiting() {
  if (throttler_.waiting() == 0 || !pods_.empty()) stranded_since_ = now();
  outcome_.stranded = std::max(outcome_.stranded, now() - stranded_since_);
}

void Loop::breach(const std::string& what) {
  if (!outcome_.breach.empty()) return;
  outcome_.breach = "seed " + std::to_string(world_.seed) + " at " +
                    std::to_string(to_seconds(now() - start_)) + " s: " + what;
}

std::int32_t Loop::count(PodPhase phase) const {
  return static_cast<std::int32_t>(std::count_if(
      pods_.begin(), pods_.end(), [phase](const auto& pod) { return pod.second.phase == phase; }));
}

std::int32_t Loop::wanted_pods() const {
  return count(PodPhase::starting) + count(PodPhase::ready);
}

std::uint64_t Loop::open_requests() const {
  return outcome_.sent - outcome_.answered - outcome_.refused - outcome_.cut;
}

double Loop::chance() {
  return static_cast<double>(random_() >> 11) * 0x1p-53;
}

}  // namespace sluice::simulation
