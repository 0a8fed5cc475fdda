#include "tests/simulation/loop.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::simulation {

using std::chrono::seconds;

namespace {

// A poke and the evaluation it causes are immediate. Only a request that comes while the last pod
// drains waits for a per-second report, and those may be lost several times in a row.
constexpr Duration kStrandedMax = seconds{30};
// The longest queue of the slowest world is served within this.
constexpr Duration kBacklogMax = std::chrono::hours{6};
constexpr Duration kEvaluationPeriod = seconds{2};

}  // namespace

Loop::Loop(World world)
    : world_(std::move(world)),
      random_(world_.seed),
      start_(seconds{1'700'000'000}),
      now_(start_),
      scaler_({.scaling = world_.scaling, .revision = "app-00001", .replicas = 0}, 0, start_),
      throttler_({.container_concurrency = world_.container_concurrency,
                  .queue_depth = world_.queue_depth,
                  .policy = {},
                  .seed = world_.seed}),
      handle_(reporter_.open({"default", "app-00001"})),
      properties_(world_.scaling, 0, start_),
      last_open_(start_),
      stranded_since_(start_) {}

Outcome Loop::run() {
  schedule(Duration{0}, Kind::arrival);
  schedule(seconds{1}, Kind::second);
  schedule(kEvaluationPeriod, Kind::evaluate);
  while (!events_.empty() && outcome_.breach.empty()) {
    const Event event = events_.top();
    if (event.at > last_open_ + world_.quiet || event.at > start_ + world_.length + kBacklogMax)
      break;
    events_.pop();
    now_ = event.at;
    play(event);
    if (open_requests() > 0 || now_ < start_ + world_.length) last_open_ = now_;
    check_waiting();
  }
  outcome_.pods_at_end = static_cast<std::int32_t>(pods_.size());
  if (outcome_.breach.empty() && open_requests() != 0) breach("requests never ended");
  return outcome_;
}

void Loop::play(const Event& event) {
  switch (event.kind) {
    case Kind::arrival:
      return arrive();
    case Kind::finish:
      return finish(event.subject);
    case Kind::pod_ready:
      return pod_ready(event.subject);
    case Kind::pod_dies:
      return die(event.subject);
    case Kind::second:
      return second();
    case Kind::evaluate:
      evaluate(autoscaler::Trigger::tick);
      return schedule(kEvaluationPeriod, Kind::evaluate);
    case Kind::stat:
      return deliver(event.subject);
  }
}

// The next arrival is drawn at the rate of now, and drawn anew when none falls within a second, so
// that a rate that changes is followed without integrating it.
void Loop::arrive() {
  const Duration since = now_ - start_;
  if (since >= world_.length) return;
  const double rate = world_.rate(since);
  const double wait = rate > 0 ? -std::log(1 - chance()) / rate : 2.0;
  schedule(from_seconds(std::clamp(wait, 1e-6, 1.0)), Kind::arrival);
  const bool arrived = !std::exchange(redrawn_, wait > 1.0);
  if (!arrived) return;

  const std::uint64_t request = requests_.size();
  requests_.push_back({});
  ++outcome_.sent;
  const bool poke = reporter_.in(handle_, now_);
  const activator::Entered entered = throttler_.enter(now_, request);
  if (entered.entry == breaker::Entry::refused) {
    if (throttler_.waiting() < throttler_.waiting_max()) breach("refused with room to wait");
    ++outcome_.refused;
    reporter_.out(handle_, now_);
  } else if (entered.entry == breaker::Entry::admitted) {
    run_on(request, entered.pod);
  }
  if (throttler_.waiting() > world_.queue_depth) breach("more wait than the queue is deep");
  if (!poke) return;
  const activator::RevisionStat stat = reporter_.poke(handle_);
  const autoscaler::Stat told{.average_concurrency = stat.average_concurrent_requests,
                              .request_count = stat.request_count};
  if (scaler_.push(told, now_)) evaluate(autoscaler::Trigger::poke);
}

void Loop::run_on(std::uint64_t request, activator::PodRef ref) {
  const std::uint64_t number = std::stoull(throttler_.pod_id(ref).name);
  const auto pod = pods_.find(number);
  if (pod == pods_.end() || pod->second.phase != PodPhase::ready) {
    return breach("admitted to a pod that is not ready");
  }
  requests_[request] = {ref, number, true};
  pod->second.stats.proxied_in(now_);
  pod->second.running.push_back(request);
  const auto in_flight = static_cast<std::int32_t>(pod->second.running.size());
  const std::int32_t limit = world_.container_concurrency;
  if (limit > 0 && in_flight > limit) breach("containerConcurrency exceeded");
  schedule(draw(world_.service), Kind::finish, request);
}

void Loop::admit(const std::vector<activator::Admission>& admitted) {
  for (const activator::Admission& one : admitted) run_on(one.cookie, one.pod);
}

void Loop::finish(std::uint64_t index) {
  Request& request = requests_[index];
  if (!request.running) return;  // it was cut
  request.running = false;
  ++outcome_.answered;
  reporter_.out(handle_, now_);
  Pod& pod = pods_.at(request.pod_number);
  pod.stats.proxied_out(now_);
  std::erase(pod.running, index);
  const std::uint64_t number = request.pod_number;
  std::vector<activator::Admission> admitted;
  throttler_.leave(request.pod, admitted);
  admit(admitted);
  drop_if_drained(number);
}

void Loop::pod_ready(std::uint64_t number) {
  const auto pod = pods_.find(number);
  if (pod == pods_.end()) return;  // stopped while it started
  const bool crashes = now_ < start_ + world_.healed;
  if (crashes && world_.failed_starts > 0 && chance() < world_.failed_starts) return die(number);
  pod->second.phase = PodPhase::ready;
  if (crashes && world_.life.to > Duration{0}) schedule(draw(world_.life), Kind::pod_dies, number);
  list_pods();
}

void Loop::second() {
  schedule(seconds{1}, Kind::second);
  // A pod that dies starts the stable window anew, so quiet means that nobody kills either.
  const bool loaded = now_ < start_ + world_.length;
  if (chance() < world_.kills_per_second && loaded) kill_one();
  report();
  scrape();
}

void Loop::report() {
  std::vector<activator::RevisionStat> stats;
  reporter_.report(now_, stats);
  for (const activator::RevisionStat& stat : stats) {
    if (chance() < world_.stat_loss) continue;
    sent_stats_.push_back({{.average_concurrency = stat.average_concurrent_requests,
                            .request_count = stat.request_count},
                           now_});
    schedule(draw(world_.stat_delay), Kind::stat, sent_stats_.size() - 1);
  }
}

void Loop::scrape() {
  if (!world_.scaling.decider.has_scrape_target) return;
  std::vector<autoscaler::Stat> answers;
  for (auto& [number, pod] : pods_) {
    if (pod.phase != PodPhase::ready) continue;
    const load::LoadReport seen = pod.stats.report(now_);
    answers.push_back({seen.average_concurrency, seen.average_proxied_concurrency,
                       seen.request_count, seen.proxied_request_count});
  }
  const auto ready = static_cast<std::int32_t>(answers.size());
  if (ready == 0 || chance() < world_.stat_loss) return;
  answers.resize(static_cast<std::size_t>(autoscaler::sample_size(ready)));
  scaler_.scraped(autoscaler::scrape_average(answers, ready), now_);
}

void Loop::deliver(std::uint64_t index) {
  const SentStat& sent = sent_stats_[index];
  if (scaler_.push(sent.stat, sent.at)) evaluate(autoscaler::Trigger::poke);
}

void Loop::evaluate(autoscaler::Trigger trigger) {
  const std::int32_t before = scaler_.want();
  const autoscaler::ScaleState state =
      scaler_.evaluate({.trigger = trigger, .ready = count(PodPhase::ready)}, now_);
  const std::string broken =
      properties_.check(state, {.want_before = before, .in_flight = open_requests()});
  if (!broken.empty()) breach(broken);
  if (world_.print) outcome_.decisions += printed(state);
  std::vector<activator::Dismissal> dismissed;
  throttler_.set_grant({state.want, state.want, false}, dismissed);
  if (!dismissed.empty()) breach("a waiter was put out although growth is possible");
  follow(state.want);
}

void Loop::follow(std::int32_t want) {
  const std::int32_t had = wanted_pods();
  if (had == 0 && want > 0) ++outcome_.wakes;
  if (had > 0 && want == 0) ++outcome_.sleeps;
  while (wanted_pods() < want) start_pod();
  while (wanted_pods() > want) stop_idlest();
  outcome_.pods_max = std::max(outcome_.pods_max, static_cast<std::int32_t>(pods_.size()));
}

void Loop::start_pod() {
  const std::uint64_t number = next_pod_++;
  pods_.emplace(number, Pod{.stats = load::RequestStats{now_}});
  schedule(draw(world_.start), Kind::pod_ready, number);
}

void Loop::stop_idlest() {
  auto idlest = pods_.end();
  for (auto pod = pods_.begin(); pod != pods_.end(); ++pod) {
    if (pod->second.phase == PodPhase::draining) continue;
    // Of equals the youngest goes; numbers only grow.
    if (idlest == pods_.end() || pod->second.running.size() <= idlest->second.running.size())
      idlest = pod;
  }
  idlest->second.phase = PodPhase::draining;
  const std::uint64_t number = idlest->first;
  list_pods();
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

void Loop::die(std::uint64_t number) {
  const auto pod = pods_.find(number);
  if (pod == pods_.end()) return;  // stopped before
  ++outcome_.deaths;
  pod->second.phase = PodPhase::draining;
  list_pods();
  std::vector<activator::Admission> admitted;
  std::vector<std::uint64_t> cut = std::exchange(pod->second.running, {});
  std::sort(cut.begin(), cut.end());
  for (const std::uint64_t index : cut) {
    Request& request = requests_[index];
    request.running = false;
    ++outcome_.cut;
    reporter_.out(handle_, now_);
    throttler_.leave(request.pod, admitted);
  }
  pods_.erase(pod);
  admit(admitted);
  follow(scaler_.want());
}

void Loop::drop_if_drained(std::uint64_t number) {
  const auto pod = pods_.find(number);
  if (pod == pods_.end() || pod->second.phase != PodPhase::draining) return;
  if (pod->second.running.empty()) pods_.erase(pod);
}

void Loop::list_pods() {
  std::vector<activator::PodState> list;
  for (const auto& [number, pod] : pods_) {
    if (pod.phase == PodPhase::ready) list.push_back({.id = {std::to_string(number)}});
  }
  std::vector<activator::Admission> admitted;
  throttler_.set_pods(list, admitted);
  admit(admitted);
}

void Loop::check_waiting() {
  if (throttler_.waiting() == 0 || !pods_.empty()) {
    stranded_since_ = now_;
  } else if (now_ - stranded_since_ > kStrandedMax) {
    breach("a request waits and nothing wakes");
  }
}

void Loop::breach(const std::string& what) {
  if (!outcome_.breach.empty()) return;
  outcome_.breach = "seed " + std::to_string(world_.seed) + " at " +
                    std::to_string(to_seconds(now_ - start_)) + " s: " + what;
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

Duration Loop::draw(const Range& range) {
  return range.from + from_seconds(chance() * to_seconds(range.to - range.from));
}

void Loop::schedule(Duration after, Kind kind, std::uint64_t subject) {
  events_.push({now_ + after, order_++, kind, subject});
}

}  // namespace sluice::simulation
