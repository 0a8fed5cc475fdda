// R3: how long it takes to make room by moving 1 to 5 services whose images are not at their
// destinations, and what their requests notice; beside the document's way, one move after the
// other.

#include "autoscaler/placement/core/moves.h"
#include "autoscaler/placement/core/planner.h"
#include "bench/replays/placement/replays.h"
#include "bench/replays/placement/service_world.h"
#include "bench/replays/placement/timeline.h"
#include "bench/replays/placement/trace.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::replay {
namespace {

using placement::MoveState;
using placement::ServiceId;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMost = 5;           // services that move
constexpr double kImageBytes = 300e6;      // of each
constexpr double kLinkBytes = 1e9 / 8;     // a second
constexpr Duration kSteady = seconds{20};  // before, as a measure of answers
constexpr Duration kStep = milliseconds{50};
constexpr Duration kLongest = seconds{300};
constexpr std::int64_t kCpu = 1000;  // millicores of a service

// --- the decision ---

// A full place that is liked, and others that are not: all services are alike, so that as many move
// as the demand is larger than they are.
class FullPlace final : public placement::ServiceBook {
 public:
  FullPlace() : parameters_{ledger_, *this} {
    const auto add = [this](const std::string& name, std::int32_t preference, std::int64_t cpu) {
      const placement::PlaceId place = ledger_.add_place({.name = name, .preference = preference});
      return ledger_.add_node(
          {.name = name,
           .place = place,
           .capacity = {
               .cpu = cpu, .memory = placement::kUnbounded, .slots = placement::kUnbounded}});
    };
    const placement::NodeId full = add("fast", 0, kCpu * static_cast<std::int64_t>(kMost));
    for (std::size_t at = 0; at < kMost; ++at) {
      static_cast<void>(add("slow-" + std::to_string(at + 1), 1, kCpu));
    }
    order_ = placement::PlaceOrder{ledger_, {}};
    liking_ = placement::PlaceOrder{ledger_, {.clusters = {"fast"}}};
    for (std::uint32_t at = 0; at < kMost; ++at) {
      facts_.push_back({.name = "app-" + std::to_string(at + 1),
                        .order = &order_,
                        .need = {.cpu = kCpu, .slots = 1}});
      ledger_.take(full, ServiceId{at}, facts_.back().need);
    }
  }

  /// The moves that make room for a demand as large as `moving` services.
  [[nodiscard]] std::optional<placement::MovePlan> plan(std::size_t moving) {
    parameters_.begin_cycle();
    placement::Planner planner{ledger_, *this, parameters_};
    const placement::Demand demand{
        .service = ServiceId{static_cast<std::uint32_t>(kMost)},
        .need = {.cpu = kCpu * static_cast<std::int64_t>(moving), .slots = 1},
        .order = &liking_};
    // How many move is given here: neither their number nor what they cost is in question.
    return planner
        .plan({.demand = demand}, placement::default_policy(),
              {.moves_max = static_cast<std::int32_t>(kMost), .worth_divisor = 1'000'000},
              TimePoint{std::chrono::hours{1}})
        .plan;
  }

  /// Milliseconds of CPU for one plan.
  [[nodiscard]] double plan_cost(std::size_t moving) {
    constexpr int kPlans = 200;
    constexpr double kMilliseconds = 1e3;
    const std::clock_t began = std::clock();
    for (int i = 0; i < kPlans; ++i) static_cast<void>(plan(moving));
    return static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC / kPlans * kMilliseconds;
  }

  [[nodiscard]] const placement::ServiceFacts* find(ServiceId service) const override {
    return placement::index_of(service) < facts_.size() ? &facts_[placement::index_of(service)]
                                                        : nullptr;
  }

  [[nodiscard]] std::optional<std::int64_t> measure(placement::Parameter /*parameter*/,
                                                    ServiceId /*service*/) const override {
    return 1;
  }

 private:
  placement::Ledger ledger_;
  placement::Parameters parameters_;
  placement::PlaceOrder order_;
  placement::PlaceOrder liking_;  // of the demand: the full place alone
  std::vector<placement::ServiceFacts> facts_;
};

// --- one round ---

// Seconds: the longest of the moves for each part, and all of it.
struct Times {
  double reserve = 0;
  double load = 0;
  double start = 0;
  double warm = 0;
  double shift = 0;
  double drain = 0;
  double admit = 0;
};

struct Answers {
  std::vector<double> steady;
  std::vector<double> during;
  std::int64_t lost = 0;  // cut, broken off, failed or never answered
};

struct RoundKind {
  std::size_t moving = 1;
  bool own_links = true;  // to each destination; else all images come over one
  std::uint64_t seed = 1;
};

// Services under traffic, of which some move.
class Round {
 public:
  explicit Round(const RoundKind& kind) {
    const std::size_t links = kind.own_links ? kind.moving : 1;
    for (std::size_t at = 0; at < links; ++at) {
      links_.push_back(std::make_unique<Link>(timeline_, kLinkBytes));
    }
    for (std::size_t at = 0; at < kind.moving; ++at) {
      services_.push_back(
          std::make_unique<ServiceWorld>(timeline_, *links_[at % links],
                                         ServiceSpec{.name = "app-" + std::to_string(at + 1),
                                                     .image_bytes = kImageBytes,
                                                     .room_to = 1,
                                                     .seed = kind.seed * kMost + at}));
      services_.back()->set_rate(kRate);
    }
    timeline_.run_until(timeline_.now() + kSteady);
    began_ = timeline_.now();
  }

  /// All at once, by the machine of states.
  [[nodiscard]] Times move_together() {
    placement::Moves moves{{}};
    for (std::size_t at = 0; at < services_.size(); ++at) {
      const std::string name = "app-" + std::to_string(at + 1);
      const auto added = moves.add({.service = ServiceId{static_cast<std::uint32_t>(at)},
                                    .from = placement::PlaceId{0},
                                    .to = placement::PlaceId{1},
                                    .loads = true,
                                    .spec = {.service = name,
                                             .from = "fast",
                                             .to = "slow",
                                             .cause = placement::MoveCause::full,
                                             .usual_start = seconds{2}}},
                                   began_);
      if (added) of_move_[*added] = at;
    }
    static_cast<void>(moves.begin_due(began_));
    Times times;
    while (!moves.running().empty() && timeline_.now() < began_ + kLongest) {
      for (const placement::MoveId id : moves.running()) step(moves, id, times);
      timeline_.run_until(timeline_.now() + kStep);
    }
    times.admit = passed();
    return times;
  }

  /// One after the other: started, and the old one stopped when the new one is ready.
  [[nodiscard]] Times move_in_turn() {
    for (const auto& service : services_) {
      placement::MoveOrders orders{.from = 1, .to = 1};
      while (service->count(Side::from) > 0 && timeline_.now() < began_ + kLongest) {
        if (service->able(Side::to) > 0) {
          orders.from = 0;
          hand_over(service->view().from.replicas.front(), orders);
        }
        service->apply(orders);
        timeline_.run_until(timeline_.now() + kStep);
      }
    }
    return {.admit = passed()};
  }

  void collect(Answers& answers) {
    const TimePoint over = timeline_.now();
    for (const auto& service : services_) service->set_rate(0);
    timeline_.run_until(over + seconds{10});
    for (const auto& service : services_) {
      for (const ServiceWorld::Answer& answer : service->answers()) {
        if (answer.at > over) continue;
        (answer.at < began_ ? answers.steady : answers.during).push_back(to_seconds(answer.took));
      }
      answers.lost += service->outcomes().arrived - service->outcomes().served;
    }
  }

 private:
  static constexpr double kRate = 50;

  [[nodiscard]] double passed() const { return to_seconds(timeline_.now() - began_); }

  static void hand_over(const placement::ReplicaView& old, placement::MoveOrders& orders) {
    orders.avoid = {old.id};
    orders.stop.clear();
    if (old.avoided && old.in_flight == 0) orders.stop = {old.id};
  }

  void step(placement::Moves& moves, placement::MoveId id, Times& times) {
    const std::size_t at = of_move_.at(id);
    ServiceWorld& service = *services_[at];
    const MoveState before = moves.move(id).state();
    const placement::MoveOrders& orders = moves.step(id, service.view(), timeline_.now());
    service.apply(orders);
    const placement::MoveRecord record = record_of(moves, id);
    if (record.state == before) return;
    const double now = passed();
    const TimePoint loaded = service.loaded_at().value_or(began_);
    const TimePoint ready = service.ready_at().value_or(began_);
    double& last = entered_[at];
    if (before < MoveState::starting) {
      times.reserve = std::max(times.reserve, now);
      last = now;
    } else if (record.state == MoveState::shifting) {
      times.load = std::max(times.load, to_seconds(loaded - began_) - last);
      times.start = std::max(times.start, to_seconds(ready - loaded));
      times.warm = std::max(times.warm, now - to_seconds(ready - began_));
      last = now;
    } else if (record.state == MoveState::draining) {
      times.shift = std::max(times.shift, now - last);
      last = now;
    } else if (record.state == MoveState::done) {
      times.drain = std::max(times.drain, now - last);
    }
  }

  static placement::MoveRecord record_of(const placement::Moves& moves, placement::MoveId id) {
    const std::vector<placement::MoveRecord> records = moves.records();
    return *std::find_if(records.begin(), records.end(),
                         [id](const placement::MoveRecord& each) { return each.id == id; });
  }

  Timeline timeline_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<std::unique_ptr<ServiceWorld>> services_;
  std::map<placement::MoveId, std::size_t> of_move_;
  std::map<std::size_t, double> entered_;
  TimePoint began_{};
};

// --- all rounds of one kind ---

struct Measured {
  Times ours;       // means over rounds
  double document;  // seconds until the demand is admitted
  Answers answers;
};

void add(Times& sum, const Times& times, double share) {
  sum.reserve += times.reserve * share;
  sum.load += times.load * share;
  sum.start += times.start * share;
  sum.warm += times.warm * share;
  sum.shift += times.shift * share;
  sum.drain += times.drain * share;
  sum.admit += times.admit * share;
}

Measured play(RoundKind kind, std::uint64_t rounds, Digest& digest) {
  Measured measured{};
  const double share = 1 / static_cast<double>(rounds);
  const std::uint64_t first = kind.seed * rounds;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    kind.seed = first + round;
    Round ours{kind};
    const Times times = ours.move_together();
    add(measured.ours, times, share);
    ours.collect(measured.answers);
    Round document{kind};
    const double in_turn = document.move_in_turn().admit;
    measured.document += in_turn * share;
    constexpr double kMicroseconds = 1e6;
    digest.add(static_cast<std::uint64_t>(times.admit * kMicroseconds));
    digest.add(static_cast<std::uint64_t>(in_turn * kMicroseconds));
  }
  return measured;
}

double p99(std::vector<double> values) {
  if (values.empty()) return 0;
  constexpr std::size_t kOf = 100;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() * (kOf - 1) / kOf);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

using PerNumber = std::array<Measured, kMost>;

void show_table(Report& report, const std::string& title, const PerNumber& measured) {
  report.notes.push_back(title);
  report.notes.emplace_back(
      "moves  reserve  load  start   warm  shift  drain  admit  in turn  p99 during / steady");
  for (std::size_t at = 0; at < measured.size(); ++at) {
    const Measured& each = measured[at];
    std::string text = std::to_string(at + 1) + "     ";
    for (const double value : {each.ours.reserve, each.ours.load, each.ours.start, each.ours.warm,
                               each.ours.shift, each.ours.drain, each.ours.admit, each.document,
                               p99(each.answers.during) / p99(each.answers.steady)}) {
      text += "  " + figure(value);
    }
    report.notes.push_back(text);
  }
}

}  // namespace

Report run_move_times(const Options& options) {
  const std::uint64_t rounds = options.quick ? 20 : 100;
  Digest digest;
  PerNumber own{};
  PerNumber shared{};
  for (std::size_t at = 0; at < kMost; ++at) {
    own[at] = play({.moving = at + 1, .own_links = true, .seed = options.seed}, rounds, digest);
    shared[at] = play({.moving = at + 1, .own_links = false, .seed = options.seed}, rounds, digest);
  }
  FullPlace place;
  Report report{.title = "R3 time by the number of services that move, in virtual seconds"};
  report.notes = {"seed " + std::to_string(options.seed) + ", digest " +
                  std::to_string(digest.value()) + ", " + std::to_string(rounds) + " rounds"};
  show_table(report, "each destination has a link of its own:", own);
  show_table(report, "all images come over one link:", shared);

  const Measured& one = own.front();
  const Measured& five = own.back();
  const Measured& crowded = shared.back();
  const double bytes = kImageBytes / kLinkBytes;
  bool planned = true;
  std::int64_t lost = 0;
  double cost = 0;
  for (std::size_t at = 0; at < kMost; ++at) {
    const auto plan = place.plan(at + 1);
    planned = planned && plan && plan->moves.size() == at + 1;
    cost = std::max(cost, place.plan_cost(at + 1));
    lost += own[at].answers.lost + shared[at].answers.lost;
  }
  report.at_most("plans with another number of moves", planned ? 0 : 1, 0);
  report.at_most("time of 5 moves / of 1, a link each", five.ours.admit / one.ours.admit, 1.3);
  report.at_most("time of 5 moves, one link", crowded.ours.admit,
                 kMost * bytes + 1.3 * (one.ours.admit - bytes));
  report.at_most("admission of 5 / in turn, a link each", five.ours.admit / five.document, 0.5);
  report.show("admission of 5 / in turn, one link", crowded.ours.admit / crowded.document);
  report.show("of that, bytes over the link alone", kMost * bytes / crowded.document);
  report.at_most("p99 during 5 moves / steady, a link each",
                 p99(five.answers.during) / p99(five.answers.steady), 1.2);
  report.at_most("p99 during 5 moves / steady, one link",
                 p99(crowded.answers.during) / p99(crowded.answers.steady), 1.2);
  report.at_most("requests lost", static_cast<double>(lost), 0);
  report.at_most("CPU of a decision, ms", cost, 1);
  return report;
}

}  // namespace sluice::replay
