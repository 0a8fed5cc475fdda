#include "programs/sluice/commands/await_ready.h"

#include "common/json/read.h"

#include <nlohmann/json.hpp>

#include "platform/process/cause.h"
#include "programs/sluice/view/fields.h"
#include "programs/sluice/view/not_ready.h"
#include <algorithm>
#include <ostream>
#include <poll.h>

namespace sluice::commands {
namespace {

using nlohmann::json;

constexpr int kFirstLook = 50;  // milliseconds
constexpr int kLastLook = 1000;
constexpr std::size_t kShown = 20;

// It does not pass by itself.
bool is_certain(const std::string& cause, Duration waited) {
  using local::CauseKind;
  const bool wrong_place =
      cause == local::name(CauseKind::other_port) || cause == local::name(CauseKind::other_address);
  return cause == local::name(CauseKind::too_large) ||
         (wrong_place && waited >= local::kSettledAfter);
}

struct Tally {
  std::size_t ready = 0;
  std::size_t asleep = 0;
  std::size_t waiting = 0;
  std::vector<json> not_ready{};  // waiting or failed
};

Tally count(const json& services, const std::set<std::string>& only, Duration waited) {
  Tally tally;
  for (const json& service : services) {
    if (!only.empty() && !only.contains(view::text_field(service, "name"))) continue;
    const Readiness found = readiness_of(service, waited);
    if (found == Readiness::asleep) {
      ++tally.asleep;
      continue;
    }
    if (found == Readiness::ready) {
      ++tally.ready;
      continue;
    }
    if (found == Readiness::waiting) ++tally.waiting;
    tally.not_ready.push_back(service);
  }
  return tally;
}

std::string count_text(const Tally& tally) {
  const std::size_t all = tally.ready + tally.asleep + tally.not_ready.size();
  return std::to_string(tally.ready) + " of " + std::to_string(all) +
         (all == 1 ? " service is" : " services are") + " ready" +
         (tally.asleep == 0 ? "" : ", " + std::to_string(tally.asleep) + " asleep");
}

void print(const Surroundings& with, const Tally& tally, bool count) {
  for (std::size_t i = 0; i < std::min(tally.not_ready.size(), kShown); ++i) {
    with.err << not_ready_text(tally.not_ready[i]) << "\n";
  }
  if (tally.not_ready.size() > kShown) {
    with.err << "and " << tally.not_ready.size() - kShown << " more are not ready\n";
  }
  if (count && tally.ready + tally.not_ready.size() > 0) with.out << count_text(tally) << "\n";
}

// An engine that has ended is no engine that does not answer.
Failure no_answer(const Surroundings& with, const ApiPlace& engine, const Failure& failure) {
  const auto running = places(with);
  const bool runs = std::any_of(running.begin(), running.end(), [&engine](const ApiPlace& each) {
    return each.name == engine.name;
  });
  return runs ? failure : Failure{kExitUnavailable, "engine " + engine.name + " was stopped"};
}

}  // namespace

Readiness readiness_of(const json& status, Duration waited) {
  const std::string latest = view::text_field(status, "revision");
  const bool is_ready = view::integer_field(status, "ready") > 0;
  for (const json& one : reading::array(status, "not_ready")) {
    const std::string state = view::text_field(one, "state");
    const bool own = view::text_field(one, "revision") == latest;
    if (is_ready && own) continue;
    if (state == "given_up") return Readiness::failed;
    if (is_certain(view::text_field(one, "cause"), waited)) return Readiness::failed;
    if (own && view::text_field(status, "state") == "failing") return Readiness::failed;
    return Readiness::waiting;
  }
  if (is_ready) return Readiness::ready;
  // A minimum is ordered by the first evaluation, up to two seconds after the start.
  const bool wanted =
      view::integer_field(status, "desired") > 0 || view::integer_field(status, "min") > 0;
  return wanted ? Readiness::waiting : Readiness::asleep;
}

std::string not_ready_text(const json& status) {
  const std::string name = view::text_field(status, "name");
  const std::string why = view::why_text(status);
  return "service " + name + " is not ready" + (why.empty() ? "" : ": " + why) +
         "; see: sluice logs " + name;
}

int await_ready(const Surroundings& with, const ApiPlace& engine, const AwaitRules& rules) {
  const TimePoint begin = with.clock.now();
  Tally tally;
  std::string shown;
  for (int pause = kFirstLook;; pause = std::min(2 * pause, kLastLook)) {
    const auto services = fetch_services(engine);
    if (!services) return report(with, no_answer(with, engine, services.error()));
    const Duration waited = with.clock.now() - begin;
    tally = count(*services, rules.services, waited);
    if (tally.waiting == 0 || waited >= rules.patience) break;
    if (rules.progress && pause == kLastLook && shown != count_text(tally)) {
      shown = count_text(tally);
      with.err << shown << "\n";
    }
    ::poll(nullptr, 0, pause);
  }
  print(with, tally, rules.count);
  return tally.not_ready.empty() ? kExitOk : kExitNotReady;
}

}  // namespace sluice::commands
