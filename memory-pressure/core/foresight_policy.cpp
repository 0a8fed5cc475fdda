#include "memory-pressure/core/foresight_policy.h"

#include "memory-pressure/core/exemptions.h"
#include "memory-pressure/core/floors.h"
#include "memory-pressure/core/ladder.h"
#include "memory-pressure/core/quota.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>
#include <tuple>

namespace sluice::node_agent {
namespace {

constexpr double kEdgeShare = 0.02;  // of the cap
constexpr double kFarShare = 0.10;
constexpr double kNearShare = 0.25;
/// Reactions after which growth that was seen once is expected half as much.
constexpr double kGrowthHalves = 10;
/// A stranger that cannot fit by its limit is tried alone, in so much free memory.
constexpr double kTryShare = 0.25;
/// Whether one may be held at all is known by then.
constexpr Duration kUnknownHeld = std::chrono::milliseconds{200};

constexpr double kCautiousConfidence = 3;
constexpr double kCautiousBrake = 2;
constexpr Duration kCautious = std::chrono::minutes{10};
constexpr Duration kBrakeCounts = std::chrono::minutes{1};
/// Holds in a row are one brake.
constexpr Duration kBrakeApart = std::chrono::seconds{1};

constexpr std::string_view kDoesNotFit = "what it is expected to use does not fit";
constexpr std::string_view kDoesNotFitAtBirth =
    "at its birth: what it is expected to use does not fit";

/// In the order of their births; of those born together there is one, too.
auto birth_of(const Member& member) {
  return std::tuple{member.seen.born.value_or(member.seen.started),
                    std::string_view{member.seen.id}};
}

/// It has its turn after a long hold.
bool is_spared(const Member& member, TimePoint now) {
  return member.spared_until && now < *member.spared_until;
}

}  // namespace

ForesightPolicy::ForesightPolicy(const PolicySettings& settings)
    : settings_(settings),
      time_(kLookGapMax),
      members_(settings),
      others_(settings),
      confidence_(settings.confidence),
      brake_(settings.brake) {}

Decision ForesightPolicy::decide(const Observation& seen) {
  const TimePoint now = time_.advance(seen.now);
  members_.follow(seen, now);
  const auto memory = memory_.take(seen.memory);
  Tick tick;
  if (memory) {
    set_caution(now);
    tick = look(*memory, seen.update_latency.value_or(settings_.update_latency), now);
    take_turns(tick);
    hold_resting(tick);
    hold_what_does_not_fit(tick);
    const bool scarce = static_cast<double>(tick.forecast.room) > tick.free;
    if (scarce && tick.free < std::max(tick.edge, least_need(tick) + tick.growth)) {
      brake(tick);
      change_places(tick);
    } else {
      let_go(tick);
      let_resting_go(tick);
    }
    keep_one_running(tick);
    hold_unknown(tick);
    note_admitted();
    others_.spare(tick.running.size() > 1);
  }
  decided_at_ = now;
  Decision decision = others_.decide(members_.others_of(seen));
  list_held(decision);
  if (memory) conclude(tick, *memory, decision);
  return decision;
}

ForesightPolicy::Tick ForesightPolicy::look(const NodeMemory& memory, Duration latency,
                                            TimePoint now) {
  Tick tick{.now = now};
  tick.cap = static_cast<double>(memory.capacity - settings_.reserve);
  tick.free = tick.cap - static_cast<double>(memory.used);
  const Duration reaction = std::max(settings_.fast_sample, now - decided_at_) + 2 * latency;
  tick.growth = brake_ * grown_lately(memory.used, reaction, now);
  tick.edge = std::max(kEdgeShare * tick.cap, tick.growth);
  tick.above_upper = memory.is_above(settings_.upper);
  tick.above_lower = memory.is_above(settings_.lower);
  std::int64_t told = 0;
  for (auto& [id, member] : members_.all()) {
    const Outlook outlook = foresee(member, members_.kin_of(member), memory.capacity, settings_);
    tick.forecast.add(outlook, member.held);
    told += member.used();
    if (member.rests) {
      tick.resting.push_back({&member, outlook});
    } else if (member.batch && !member.idle) {
      (member.held ? tick.held : tick.running).push_back({&member, outlook});
    }
  }
  // What no container accounts for is there all the same.
  tick.forecast.expected += static_cast<double>(std::max<std::int64_t>(0, memory.used - told));
  std::stable_sort(tick.running.begin(), tick.running.end(), [](const auto& a, const auto& b) {
    return birth_of(*a.member) > birth_of(*b.member);
  });
  return tick;
}

double ForesightPolicy::grown_lately(std::int64_t used, Duration within, TimePoint now) {
  used_.emplace_back(now, used);
  while (now - used_.front().first > within) used_.pop_front();
  const auto least = std::min_element(
      used_.begin(), used_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  // Containers of one kind take in step, and rest in step: what has gone at once will go again.
  const double kept =
      std::exp2(-to_seconds(now - decided_at_) / (kGrowthHalves * to_seconds(within)));
  growth_ = std::max(static_cast<double>(used - least->second), growth_ * kept);
  return growth_;
}

bool ForesightPolicy::fits(const Forecast& forecast, double cap) const {
  return forecast.total(confidence_) <= cap;
}

// One that ever ran waits no longer than pause_max; those that were held together take turns.
void ForesightPolicy::take_turns(Tick& tick) {
  if (turn_until_ && tick.now < *turn_until_) return;
  std::int64_t waiting = 0;
  std::optional<std::size_t> longest;
  for (std::size_t i = 0; i < tick.held.size(); ++i) {
    const Member& member = *tick.held[i].member;
    if (!member.ran) continue;
    ++waiting;
    if (!longest || member.changed < tick.held[*longest].member->changed) longest = i;
  }
  if (!longest) return;
  const auto& [next, outlook] = tick.held[*longest];
  const Duration waited = tick.now - next->changed;
  if (waited < settings_.pause_max) return;
  // Those that run may need all that is free: a turn that cannot end well waits a little longer.
  const auto need = static_cast<double>(tick.forecast.room + outlook.need);
  if (need > tick.free && waited < settings_.pause_max + settings_.pause_max / 4) return;
  turn_until_ = next->spared_until = tick.now + settings_.pause_max / (2 * (waiting + 1));
  release(tick, *longest);
}

// All of them: what one without a limit will need is not known.
void ForesightPolicy::hold_resting(Tick& tick) {
  const bool is_short = tick.above_upper || tick.free < tick.edge ||
                        (tick.above_lower && !fits(tick.forecast, tick.cap));
  if (!is_short) return;
  for (const auto& [member, outlook] : tick.resting) {
    if (member->held || tick.now - member->changed < settings_.run_min) continue;
    tick.forecast.move(outlook, true);
    set_held(*member, true, "no request is in flight, and memory is short", tick.now);
  }
}

// A request lets one go at once; this is for those that none comes for. One in a tick, the one that
// could grow least.
void ForesightPolicy::let_resting_go(Tick& tick) {
  if (!tick.held.empty() || tick.above_lower) return;
  const Runner* next = nullptr;
  for (const Runner& each : tick.resting) {
    const bool due = each.member->held && tick.now - each.member->changed >= settings_.pause_min;
    if (due && (next == nullptr || each.outlook.need < next->outlook.need)) next = &each;
  }
  if (next == nullptr) return;
  const double need = std::min(static_cast<double>(next->outlook.need), tick.edge);
  if (tick.free <= tick.edge + kEdgeShare * tick.cap + need) return;
  tick.forecast.move(next->outlook, false);
  set_held(*next->member, false, "", tick.now);
}

// The youngest first: at its birth it holds next to nothing.
void ForesightPolicy::hold_what_does_not_fit(Tick& tick) {
  for (std::size_t i = 0; i < tick.running.size();) {
    if (tick.running.size() == 1 || fits(tick.forecast, tick.cap)) return;
    const auto& [member, outlook] = tick.running[i];
    Forecast without = tick.forecast;
    without.move(outlook, true);
    const bool helps = without.total(confidence_) < tick.forecast.total(confidence_);
    if (!helps || member->late || member->tried || is_mid(*member) ||
        is_spared(*member, tick.now)) {
      ++i;
    } else {
      hold(tick, i, member->admitted ? kDoesNotFit : kDoesNotFitAtBirth);
    }
  }
}

std::vector<ForesightPolicy::Runner>::const_iterator ForesightPolicy::least_of(
    const std::vector<Runner>& runners) {
  return std::min_element(runners.begin(), runners.end(), [](const Runner& a, const Runner& b) {
    return a.outlook.need < b.outlook.need;
  });
}

// The one that continues must be able to: what it needs is still free when the others are held.
double ForesightPolicy::least_need(const Tick& tick) {
  return tick.running.empty() ? 0 : static_cast<double>(least_of(tick.running)->outlook.need);
}

// Who needs least is never held: it reaches what it claims, and frees.
void ForesightPolicy::brake(Tick& tick) {
  while (tick.running.size() > 1 && static_cast<double>(tick.forecast.room) > tick.free) {
    const auto by_need = [&](const Runner& a, const Runner& b) {
      const auto key = [&](const Runner& each) {
        return std::tuple{!is_spared(*each.member, tick.now), each.outlook.need,
                          birth_of(*each.member)};
      };
      return key(a) < key(b);
    };
    const auto [best, most] =
        std::minmax_element(tick.running.begin(), tick.running.end(), by_need);
    if (best == most || most->outlook.need == 0) return;
    note_brake(tick.now);
    hold(tick, static_cast<std::size_t>(most - tick.running.begin()),
         "more may be needed than is free");
  }
}

// Where the only one that runs may need more than is left, one that is held may need less: it
// continues instead, and frees. One that has its turn runs until it comes to that.
void ForesightPolicy::change_places(Tick& tick) {
  if (tick.running.size() != 1 || tick.held.empty()) return;
  const Runner& runner = tick.running.front();
  if (static_cast<double>(runner.outlook.need) <= tick.free) return;
  const auto best = least_of(tick.held);
  const auto need = static_cast<double>(best->outlook.need);
  const bool can_wait = is_spared(*runner.member, tick.now) && tick.free > need + tick.growth;
  if (can_wait || best->outlook.need >= runner.outlook.need) return;
  runner.member->spared_until.reset();
  release(tick, static_cast<std::size_t>(best - tick.held.begin()));
  hold(tick, 0, "more may be needed than is free");
}

void ForesightPolicy::set_caution(TimePoint now) {
  confidence_ = settings_.confidence;
  brake_ = settings_.brake;
  if (!cautious_until_ || now >= *cautious_until_) return;
  confidence_ = std::max(confidence_, kCautiousConfidence);
  brake_ = std::max(brake_, kCautiousBrake);
}

// A brake is a forecast that was too bold. More than one a minute: more is kept free for a while.
void ForesightPolicy::note_brake(TimePoint now) {
  const Duration since = braked_at_ ? now - *braked_at_ : kBrakeCounts;
  if (since < kBrakeApart) return;
  braked_at_ = now;
  if (since < kBrakeCounts) cautious_until_ = now + kCautious;
}

void ForesightPolicy::let_go(Tick& tick) {
  bool expected = false;  // one is let go by what is expected, in this tick
  while (!tick.held.empty()) {
    const auto next =
        std::min_element(tick.held.begin(), tick.held.end(), [](const Runner& a, const Runner& b) {
          const auto key = [](const Runner& each) {
            const bool mid = is_mid(*each.member);
            return std::tuple{!mid, mid ? each.outlook.need : 0, birth_of(*each.member)};
          };
          return key(a) < key(b);
        });
    const auto& [member, outlook] = *next;
    Forecast with = tick.forecast;
    with.move(outlook, false);
    const bool fit = fits(with, tick.cap);
    const auto need = static_cast<double>(outlook.need);
    const bool by_claims = static_cast<double>(with.room) <= tick.free && (fit || is_mid(*member));
    const bool by_expectation =
        fit && tick.free > tick.edge + kEdgeShare * tick.cap + std::min(need, tick.edge);
    const bool try_it = is_worth_a_try(tick, *next);
    if (!by_claims && (expected || !(by_expectation || try_it))) return;
    expected = expected || !by_claims;
    member->tried = member->tried || try_it;
    release(tick, static_cast<std::size_t>(next - tick.held.begin()));
  }
}

// Its limit never fits, and it cannot become known while it is held.
bool ForesightPolicy::is_worth_a_try(const Tick& tick, const Runner& held) const {
  return held.outlook.stranger && tick.now - held.member->changed >= settings_.pause_max &&
         tick.free > kTryShare * tick.cap &&
         std::none_of(tick.running.begin(), tick.running.end(),
                      [](const Runner& each) { return each.outlook.stranger; });
}

void ForesightPolicy::keep_one_running(Tick& tick) {
  if (!tick.running.empty() || tick.held.empty()) return;
  const auto best = least_of(tick.held);
  release(tick, static_cast<std::size_t>(best - tick.held.begin()));
}

// A birth of which the runtime has said nothing yet may be one that must not be held.
void ForesightPolicy::hold_unknown(const Tick& tick) {
  for (auto& [id, member] : members_.all()) {
    if (member.seen.described || !member.seen.born || !settings_.pause) continue;
    const bool young = tick.now - member.first_seen < kUnknownHeld;
    const bool wanted = young && (member.held || tick.free < tick.edge);
    if (wanted != member.held) set_held(member, wanted, "not described yet, and no room", tick.now);
  }
}

void ForesightPolicy::note_admitted() {
  for (auto& [id, member] : members_.all()) {
    member.admitted = member.admitted || (member.seen.described && !member.held);
  }
}

void ForesightPolicy::hold(Tick& tick, std::size_t at, std::string_view why) {
  const Runner runner = tick.running[at];
  tick.running.erase(tick.running.begin() + static_cast<std::ptrdiff_t>(at));
  tick.held.push_back(runner);
  tick.forecast.move(runner.outlook, true);
  set_held(*runner.member, true, why, tick.now);
}

void ForesightPolicy::release(Tick& tick, std::size_t at) {
  const Runner runner = tick.held[at];
  tick.held.erase(tick.held.begin() + static_cast<std::ptrdiff_t>(at));
  tick.running.push_back(runner);
  tick.forecast.move(runner.outlook, false);
  set_held(*runner.member, false, "", tick.now);
}

void ForesightPolicy::list_held(Decision& decision) const {
  std::vector<Throttle> all;
  for (const auto& [id, member] : members_.all()) {
    if (!member.held) continue;
    all.push_back({.id = id,
                   .quota = quota_at(kStepDeepest, Floors{settings_}.floor(member.seen), settings_),
                   .ladder_step = kStepDeepest,
                   .freeze = freezes(member, settings_),
                   .why = member.why});
  }
  decision.throttled.insert(decision.throttled.begin(), all.begin(), all.end());
}

void ForesightPolicy::conclude(const Tick& tick, const NodeMemory& memory,
                               Decision& decision) const {
  const bool fit = fits(tick.forecast, tick.cap);
  const bool holds = !tick.held.empty();
  if (memory.is_above(settings_.critical)) decision.pressure = Pressure::critical;
  const bool displaces = !fit && !tick.running.empty();
  if ((displaces || holds) && decision.pressure == Pressure::ok) decision.pressure = Pressure::high;
  decision.retire_idle = decision.pressure != Pressure::ok;
  const bool may_run_out =
      static_cast<double>(tick.forecast.room) > tick.free && tick.free <= kNearShare * tick.cap;
  decision.dense = !fit || holds || may_run_out || tick.free <= kFarShare * tick.cap;
  decision.growth_per_second = 0;
  for (const auto& [id, member] : members_.all()) {
    decision.growth_per_second +=
        std::max<std::int64_t>(0, static_cast<std::int64_t>(member.growth.slope()));
  }
  decision.why = in_words(tick);
  const auto& all = members_.all();
  const bool serves = std::any_of(all.begin(), all.end(),
                                  [](const auto& entry) { return entry.second.seen.marks.serves; });
  decision.empty = decision.empty && tick.running.empty() && !holds && !serves;
  admit(tick, decision);
  if (decision.empty) decision.admit_bytes = std::max(decision.room_bytes, memory.capacity);
}

// A start that we control is judged like a birth that we do not: by its limit, as a stranger. Who
// is held already goes first.
void ForesightPolicy::admit(const Tick& tick, Decision& decision) const {
  decision.admit_bytes = decision.room_bytes = kAdmitAnything;
  if (!settings_.gate) return;
  const double fitting = (tick.cap - tick.forecast.total(confidence_)) / settings_.stranger_growth;
  const double claims = tick.free - static_cast<double>(tick.forecast.room);
  const bool far = tick.free > 2 * tick.edge + kEdgeShare * tick.cap;
  const double room = tick.held.empty() ? std::min(fitting, far ? fitting : claims) : 0;
  decision.admit_bytes = decision.room_bytes = static_cast<std::int64_t>(std::max(0.0, room));
}

std::string ForesightPolicy::in_words(const Tick& tick) const {
  constexpr double kMiB = 1 << 20;
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(),
                "expected %.0f of %.0f MiB, free %.0f MiB, edge %.0f MiB, could need %.0f MiB, "
                "%zu batch running, %zu held: %s",
                tick.forecast.total(confidence_) / kMiB, tick.cap / kMiB, tick.free / kMiB,
                tick.edge / kMiB, static_cast<double>(tick.forecast.room) / kMiB,
                tick.running.size(), tick.held.size(),
                fits(tick.forecast, tick.cap) ? "fits" : "does not fit");
  return text.data();
}

std::unique_ptr<Policy> make_foresight(const PolicySettings& settings) {
  return std::make_unique<ForesightPolicy>(settings);
}

}  // namespace sluice::node_agent
