#include "tests/unit/memory-pressure/core/runtime_bench.h"

#include "memory-pressure/core/quota.h"
#include <algorithm>
#include <sstream>

namespace sluice::node_agent {
namespace {

std::string text(const CpuQuota& quota) {
  return std::to_string(quota.quota_us) + "/" + std::to_string(quota.period_us);
}

Outcome outcome_named(std::string_view name) {
  if (name == "not_found") return Outcome::not_found;
  if (name == "refused") return Outcome::refused;
  if (name == "timed_out") return Outcome::timed_out;
  if (name == "unavailable") return Outcome::unavailable;
  if (name == "failed") return Outcome::failed;
  return Outcome::ok;
}

}  // namespace

RuntimeBench::RuntimeBench(Scene& scene, ReconcilerSettings settings)
    : reconciler(std::move(settings)), scene_(scene) {}

Decision wanting(std::string_view throttled) {
  Decision decision;
  std::istringstream words{std::string{throttled}};
  for (std::string word; words >> word;) {
    const std::size_t colon = word.find(':');
    const std::string how = word.substr(colon + 1);
    const bool freeze = how == "frozen";
    decision.throttled.push_back({.id = word.substr(0, colon),
                                  .quota = signature(freeze ? 1 : std::stoll(how)),
                                  .ladder_step = 3,
                                  .freeze = freeze,
                                  .why = "test"});
  }
  return decision;
}

std::string RuntimeBench::tick(std::string_view throttled, std::int64_t milliseconds) {
  return tick(wanting(throttled), milliseconds);
}

std::string RuntimeBench::tick(const Decision& wanted, std::int64_t milliseconds) {
  said_.clear();
  scene_.after(milliseconds);
  carry_out(reconciler.tick(wanted, scene_.seen));
  return said_;
}

std::string RuntimeBench::kernel(const std::string& id) {
  return id + " " + text(*scene_[id].quota);
}

void RuntimeBench::carry_out(const std::vector<Action>& actions) {
  for (const Action& action : actions) {
    if (const auto* write = std::get_if<WriteJournal>(&action)) {
      if (disk_full) {
        unwritten_ = write->record.id;
        continue;
      }
      const bool drop =
          write->record.kind == RecordKind::drop || write->record.kind == RecordKind::thawed;
      say((drop ? "drop " : "journal ") + write->record.id);
      journal += encode(write->record);
    } else if (const auto* one = std::get_if<Update>(&action)) {
      update(*one);
    } else if (const auto* held = std::get_if<Freeze>(&action)) {
      freeze(*held);
    } else if (const auto* read = std::get_if<ReadBack>(&action)) {
      say("read " + read->id);
      carry_out(reconciler.read_back(read->call, scene_[read->id].quota, scene_.seen.now));
    } else if (const auto* order = std::get_if<Stop>(&action)) {
      stop(*order);
    } else if (const auto* alarm = std::get_if<Alarm>(&action)) {
      say("alarm " + alarm->id);
    } else {
      say("look");
    }
  }
}

void RuntimeBench::update(const Update& update) {
  if (disk_full && unwritten_ == update.id) return reconciler.journal_failed(update.id);
  ++calls;
  std::string outcome = next_outcome();
  say(update.id + " " + text(update.quota) + (outcome.empty() ? "" : " " + outcome));
  const bool half = outcome.starts_with('~');
  const bool effect = outcome.empty() || outcome.starts_with('+') || half || silent;
  if (half || outcome.starts_with('+')) outcome.erase(0, 1);
  auto& containers = scene_.seen.containers;
  const auto found = std::find_if(containers.begin(), containers.end(),
                                  [&](const Container& one) { return one.id == update.id; });
  if (effect && found != containers.end()) {
    found->quota->quota_us = update.quota.quota_us;
    if (!half) found->quota->period_us = update.quota.period_us;
  }
  if (silent) return;
  carry_out(reconciler.answered(update.call, outcome_named(outcome), scene_.seen.now));
}

void RuntimeBench::freeze(const Freeze& freeze) {
  if (disk_full && unwritten_ == freeze.id) return reconciler.journal_failed(freeze.id);
  ++calls;
  const std::string outcome = next_outcome();
  say((freeze.frozen ? "freeze " : "thaw ") + freeze.id + (outcome.empty() ? "" : " " + outcome));
  auto& containers = scene_.seen.containers;
  const auto found = std::find_if(containers.begin(), containers.end(),
                                  [&](const Container& one) { return one.id == freeze.id; });
  if (outcome.empty() && found != containers.end()) found->frozen = freeze.frozen;
  if (silent) return;
  carry_out(reconciler.answered(freeze.call, outcome_named(outcome), scene_.seen.now));
}

void RuntimeBench::stop(const Stop& stop) {
  ++calls;
  const std::string outcome = next_outcome();
  say("stop " + stop.id + (outcome.empty() ? "" : " " + outcome));
  if (outcome.empty()) scene_.remove(stop.id);
  carry_out(reconciler.answered(stop.call, outcome_named(outcome), scene_.seen.now));
}

std::string RuntimeBench::next_outcome() {
  if (outcomes_.empty()) return "";
  const std::string_view next = outcomes_.front();
  outcomes_.pop_front();
  return next == "ok" ? "" : std::string{next};
}

void RuntimeBench::say(const std::string& words) {
  if (!said_.empty()) said_ += ", ";
  said_ += words;
}

}  // namespace sluice::node_agent
