#include "autoscaler/io/fleet_view.h"

#include "autoscaler/io/status_json.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr auto kSecond = std::chrono::seconds{1};
// Revisions in one turn of the loop: some 0.2 ms.
constexpr std::size_t kPerTurn = 40;
// What was counted before must have left the window when a mark begins again (LatencyMark).
constexpr Duration kLivelyAfter = std::chrono::seconds{60};
constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

std::string_view trouble_of(const Revision& revision, std::string_view state, Mode mode) {
  if (state == "failing") return state;
  if (mode == Mode::panic) return "panic";
  using placement::Reason;
  const placement::Missing* const missing = revision.missing();
  const Reason reason = missing == nullptr ? Reason::none : missing->reason;
  const bool refused =
      reason == Reason::memory || reason == Reason::pressure || reason == Reason::gate;
  return refused || revision.counts().throttled > 0 ? "memory" : "";
}

double double_of(float value) {
  return static_cast<double>(value);
}

}  // namespace

FleetView::FleetView(Loop& clock, FleetEvents& events, const FrontFacts* front)
    : clock_{clock}, events_{events}, front_{front}, timer_{clock.timer()} {
  events_.watch_by(this);
}

FleetView::~FleetView() {
  events_.watch_by(nullptr);
}

void FleetView::keep_looking(bool keep) {
  keeps_looking_ = keep;
  arm();
}

// Each evaluation comes by here, also those of revisions of which nothing changes for days.
void FleetView::on_changed(const Revision& revision) {
  const bool settled = revision.facts().in_service && state_of(revision) == "asleep";
  if (settled && asleep_.contains(&revision)) return;
  changed_.insert(&revision);
  arm();
}

void FleetView::on_gone(const Revision& revision) {
  changed_.erase(&revision);
  lively_.erase(&revision);
  asleep_.erase(&revision);
  std::erase(work_, &revision);
  rows_.drop(revision.facts().id);
  if (revision.facts().in_service) series_.forget(series_of(revision));
}

RevisionId FleetView::series_of(const Revision& revision) const {
  const model::Revision& facts = revision.facts();
  return front_ == nullptr ? facts.id : RevisionId{facts.id.space, facts.service};
}

void FleetView::arm() {
  if (armed_ || (!keeps_looking_ && changed_.empty() && lively_.empty())) return;
  armed_ = true;
  timer_->at(std::chrono::floor<std::chrono::seconds>(clock_.now()) + kSecond,
             [this] { begin_look(); });
}

void FleetView::begin_look() {
  second_ = std::chrono::floor<std::chrono::seconds>(clock_.now()).time_since_epoch().count() - 1;
  work_.assign(changed_.begin(), changed_.end());
  for (const auto& [revision, lively] : lively_) {
    if (!changed_.contains(revision)) work_.push_back(revision);
  }
  changed_.clear();
  go_on();
}

void FleetView::go_on() {
  for (std::size_t i = 0; i < kPerTurn && !work_.empty(); ++i) {
    const Revision* const revision = work_.back();
    work_.pop_back();
    look_at(*revision);
  }
  if (!work_.empty()) {
    clock_.post([this, alive = alive_.watch()] {
      if (!alive.over()) go_on();
    });
    return;
  }
  count_all();
  armed_ = false;
  arm();
  if (on_look_) on_look_();
}

void FleetView::count_all() {
  latency_[static_cast<std::size_t>(second_) % latency_.size()] = {second_,
                                                                   std::exchange(ended_, {})};
  const FleetTiles& tiles = rows_.tiles();
  SeriesPoint point;
  point[Figure::rps] = static_cast<float>(tiles.rps);
  point[Figure::queued] = static_cast<float>(tiles.queued);
  point[Figure::in_flight] = static_cast<float>(tiles.in_flight);
  point[Figure::ready] = static_cast<float>(tiles.ready);
  point[Figure::want] = static_cast<float>(tiles.want);
  series_.add(series_of_all(), second_, point);
}

LatencyCounts FleetView::latency() const {
  const auto now = std::chrono::floor<std::chrono::seconds>(clock_.now());
  const std::int64_t oldest =
      now.time_since_epoch().count() - static_cast<std::int64_t>(latency_.size());
  LatencyCounts all;
  for (const Second& second : latency_) {
    if (second.number >= oldest) all += second.ended;
  }
  return all;
}

FrontFacts::Counted FleetView::counted(const Revision& revision) const {
  return front_ == nullptr ? FrontFacts::Counted{} : front_->counted(revision);
}

void FleetView::look_at(const Revision& revision) {
  const model::Revision& facts = revision.facts();
  asleep_.erase(&revision);
  if (!facts.in_service) {
    lively_.erase(&revision);
    rows_.drop(facts.id);
    return;
  }
  const TimePoint now = clock_.now();
  const Revision::Counts counts = revision.counts();
  const bool awake = counts.ready + counts.starting + counts.leaving > 0 || revision.want() > 0 ||
                     counted(revision).queued > 0;
  if (awake) lively_[&revision].awake_at = now;
  const auto found = lively_.find(&revision);
  SeriesPoint point;
  if (found == lively_.end()) {
    set_levels(revision, point);
  } else {
    count(revision, found->second);
    point = found->second.last;
    series_.add(series_of(revision), second_, point);
    if (now - found->second.awake_at > kLivelyAfter) lively_.erase(found);
  }
  FleetRow row = row_of(revision, point);
  if (row.state == "asleep" && !lively_.contains(&revision)) asleep_.insert(&revision);
  rows_.put(std::move(row));
}

void FleetView::set_levels(const Revision& revision, SeriesPoint& point) const {
  const Revision::Counts counts = revision.counts();
  const DecisionRecord decision = revision.last();
  point[Figure::ready] = static_cast<float>(counts.ready);
  point[Figure::starting] = static_cast<float>(counts.starting);
  point[Figure::draining] = static_cast<float>(counts.leaving);
  point[Figure::want] = static_cast<float>(revision.want());
  point[Figure::stable] = static_cast<float>(decision.stable);
  point[Figure::panic] = static_cast<float>(decision.panic);
  point[Figure::target] = static_cast<float>(decision.target);
  if (front_ != nullptr) {
    const FrontFacts::Counted now = front_->counted(revision);
    point[Figure::queued] = static_cast<float>(now.queued);
    point[Figure::in_flight] = static_cast<float>(now.in_flight);
    return;
  }
  const bool known = revision.scraped() && counts.ready > 0;
  point[Figure::rps] = known ? static_cast<float>(revision.scraped()->request_count) : 0;
  point[Figure::in_flight] =
      known ? static_cast<float>(revision.scraped()->average_concurrency) : 0;
  for (const Figure figure :
       {Figure::errors, Figure::refused, Figure::queued, Figure::p50_ms, Figure::p99_ms}) {
    point[figure] = kUnknown;
  }
}

// All of the second that has ended.
void FleetView::count(const Revision& revision, Lively& lively) {
  SeriesPoint point;
  if (const FrontFacts::Counted now = counted(revision); now.latency != nullptr) {
    const LatencyCounts ended = lively.mark.take(*now.latency, clock_.now());
    point[Figure::rps] = static_cast<float>(ended.total());
    point[Figure::p50_ms] = static_cast<float>(ended.quantile_ms(0.5));
    point[Figure::p99_ms] = static_cast<float>(ended.quantile_ms(0.99));
    point.latency = ended.heat();
    ended_ += ended;
    const std::uint64_t errors = std::exchange(lively.errors, now.errors);
    const std::uint64_t refused = std::exchange(lively.refused, now.refused);
    if (std::exchange(lively.counted, true)) {
      point[Figure::errors] = static_cast<float>(now.errors - std::min(errors, now.errors));
      point[Figure::refused] = static_cast<float>(now.refused - std::min(refused, now.refused));
    }
  }
  set_levels(revision, point);
  lively.last = point;
}

SeriesPoint FleetView::point_of(const Revision& revision) const {
  const auto found = lively_.find(&revision);
  SeriesPoint point = found == lively_.end() ? SeriesPoint{} : found->second.last;
  set_levels(revision, point);
  return point;
}

FleetRow FleetView::row_of(const Revision& revision, const SeriesPoint& point) const {
  const model::Revision& facts = revision.facts();
  const DecisionRecord decision = revision.last();
  const std::string_view state = state_of(revision);
  FleetRow row{.id = facts.id,
               .service = facts.service,
               .state = state,
               .trouble = trouble_of(revision, state, decision.mode),
               .panic_since = decision.mode == Mode::panic ? decision.panic_entered : std::nullopt,
               .ready = static_cast<std::int32_t>(point[Figure::ready]),
               .starting = static_cast<std::int32_t>(point[Figure::starting]),
               .want = revision.want(),
               .stable = decision.stable,
               .panic = decision.panic,
               .target = decision.target,
               .rps = double_of(point[Figure::rps]),
               .queued = double_of(point[Figure::queued]),
               .in_flight = double_of(point[Figure::in_flight]),
               .p50_ms = double_of(point[Figure::p50_ms]),
               .p99_ms = double_of(point[Figure::p99_ms]),
               .last_cold_start_ms = events_.last_cold_start_ms(revision),
               .why = state == "failing" ? revision.start_failure() : why(decision)};
  // As its status has them: of a minute, not of a second.
  if (const FrontFacts::Counted now = counted(revision); now.latency != nullptr) {
    const LatencyCounts recent = now.latency->recent(clock_.now());
    row.p50_ms = recent.quantile_ms(0.5);
    row.p99_ms = recent.quantile_ms(0.99);
  }
  return row;
}

}  // namespace sluice::autoscaler
