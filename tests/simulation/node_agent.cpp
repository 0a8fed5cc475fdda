#include "tests/simulation/node_agent.h"

#include <memory>
#include <utility>

namespace sluice::node_agent {
namespace {

constexpr Duration kCrashEvery = std::chrono::seconds{9};
constexpr Duration kDeadMax = std::chrono::seconds{1};
constexpr Duration kClockRange = std::chrono::hours{2};  // of one step, half of it to each side

Duration share(double part, Duration of) {
  return std::chrono::duration_cast<Duration>(part * of);
}

/// A policy whose decisions come out doctored.
class DoctoredPolicy final : public Policy {
 public:
  DoctoredPolicy(std::unique_ptr<Policy> policy, const Doctoring& doctoring)
      : policy_(std::move(policy)), doctoring_(doctoring) {}

  Decision decide(const Observation& seen) override {
    Decision decision = policy_->decide(seen);
    if (doctoring_.decision) doctoring_.decision(decision, seen);
    return decision;
  }

 private:
  std::unique_ptr<Policy> policy_;
  const Doctoring& doctoring_;
};

}  // namespace

std::optional<Problem> SimJournal::append(std::span<const JournalRecord> records) {
  for (const JournalRecord& record : records) text_ += encode(record);
  return std::nullopt;
}

std::optional<Problem> SimJournal::compact(std::span<const JournalRecord> records) {
  lose();
  return append(records);
}

SimAgent::SimAgent(SimKernel& kernel, ManualTime& time, const MemoryController::Options& rules,
                   const NodeFaults& faults, const Doctoring& doctoring,
                   std::optional<double> sight_ms, std::uint64_t seed, Told told)
    : kernel_(kernel),
      time_(time),
      faults_(faults),
      doctoring_(doctoring),
      options_(rules),
      decided_(std::move(told.decided)),
      random_(seed),
      runtime_({.kernel = kernel,
                .time = time,
                .clock = clock_,
                .faults = faults_,
                .sight_ms = sight_ms,
                .doctoring = doctoring,
                .random = random_,
                .stopped = std::move(told.stopped)}) {
  options_.boot_id = "boot";
  options_.strays = !doctoring.loses_journal;
  options_.make_policy = [this, make = rules.make_policy](const PolicySettings& settings) {
    return std::make_unique<DoctoredPolicy>(make(settings), doctoring_);
  };
  next_crash_ = time.now() + share(0.2 + dice(), kCrashEvery);
}

void SimAgent::pass() {
  if (faults_.crash && time_.now() >= next_crash_) crash();
  if (time_.now() < dead_until_) return;
  if (!loop_) start();
  if (faults_.clock_steps && dice() < 0.002) clock_.step(share(dice() - 0.5, kClockRange));
}

void SimAgent::crash() {
  loop_.reset();
  runtime_.forget();
  dead_until_ = time_.now() + share(dice(), kDeadMax);
  next_crash_ = time_.now() + share(0.5 + dice(), kCrashEvery);
  if (doctoring_.loses_journal) journal_.lose();
}

void SimAgent::start() {
  loop_.emplace(ControlLoop::Parts{.loop = clock_,
                                   .log = log_,
                                   .memory =
                                       [this] {
                                         return NodeMemory{.capacity = kernel_.capacity(),
                                                           .used = kernel_.used(),
                                                           .stall = {}};
                                       },
                                   .runtime = runtime_,
                                   .containers = runtime_,
                                   .journal = &journal_},
                ControlLoop::Options{.controller = options_, .lease = std::chrono::seconds{30}});
  loop_->on_decided(decided_);
  loop_->start([](const Problem&) {});
}

void SimAgent::news(bool reported) {
  if (runtime_.is_down() || controller() == nullptr) return;
  runtime_.look([this, reported](bool) {
    if (loop_ && reported) loop_->wake();
  });
}

}  // namespace sluice::node_agent
