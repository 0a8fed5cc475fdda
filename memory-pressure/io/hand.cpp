#include "memory-pressure/io/hand.h"

#include <algorithm>
#include <array>
#include <unistd.h>
#include <utility>

namespace sluice::node_agent {
namespace {

constexpr std::size_t kIdShown = 12;
constexpr std::size_t kStoppedMax = 256;
// A larger journal is replaced by what is true now.
constexpr std::size_t kCompactBytes = std::size_t{256} << 10U;

std::string milliseconds(Duration duration) {
  const auto tenths = std::chrono::duration_cast<std::chrono::microseconds>(duration).count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::string show(const CpuQuota& quota) {
  return (quota.quota_us < 0 ? "none" : std::to_string(quota.quota_us)) + "/" +
         std::to_string(quota.period_us);
}

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return "ok";
    case Outcome::not_found:
      return "not found";
    case Outcome::refused:
      return "refused";
    case Outcome::timed_out:
      return "timed out";
    case Outcome::unavailable:
      return "no runtime";
    case Outcome::failed:
      return "failed";
  }
  return "failed";
}

const std::string* target_of(const Action& action) {
  if (const auto* update = std::get_if<Update>(&action)) return &update->id;
  if (const auto* stop = std::get_if<Stop>(&action)) return &stop->id;
  if (const auto* freeze = std::get_if<Freeze>(&action)) return &freeze->id;
  return nullptr;
}

}  // namespace

std::string Hand::shown(const std::string& id) const {
  const std::string known = parts_.containers.shown(id);
  return known.empty() ? id.substr(0, kIdShown) : known;
}

bool Hand::has_stopped(const std::string& id) const {
  return std::find(stopped_.begin(), stopped_.end(), id) != stopped_.end();
}

void Hand::carry_out(const std::vector<Action>& actions, TimePoint sampled) {
  std::vector<std::string> failed;
  write_down(actions, failed);
  bool look_again = false;
  for (const Action& action : actions) {
    const std::string* const target = target_of(action);
    const bool unwritten =
        target != nullptr && std::find(failed.begin(), failed.end(), *target) != failed.end();
    if (unwritten) {
      parts_.controller.journal_failed(*target);
      continue;
    }
    if (const auto* update = std::get_if<Update>(&action)) carry_out(*update, sampled);
    if (const auto* freeze = std::get_if<Freeze>(&action)) carry_out(*freeze, sampled);
    if (const auto* read = std::get_if<ReadBack>(&action)) carry_out(*read);
    if (const auto* stop = std::get_if<Stop>(&action)) carry_out(*stop);
    if (const auto* alarm = std::get_if<Alarm>(&action)) tell(*alarm);
    look_again = look_again || std::holds_alternative<LookAgain>(action);
  }
  if (look_again && look_again_) look_again_();
}

// All records of one step go down with one sync.
void Hand::write_down(const std::vector<Action>& actions, std::vector<std::string>& failed) {
  std::vector<JournalRecord> records;
  for (const Action& action : actions) {
    if (const auto* write = std::get_if<WriteJournal>(&action)) records.push_back(write->record);
  }
  if (records.empty() || parts_.journal == nullptr) return;
  // Nothing is listed without a record that vouches for it.
  const TimePoint now = parts_.loop.now();
  const bool throttles = std::any_of(records.begin(), records.end(), [](const auto& record) {
    return record.kind == RecordKind::throttle || record.kind == RecordKind::frozen;
  });
  if (throttles && lease_is_due(now)) records.push_back(next_lease(now));
  std::optional<Problem> problem = parts_.journal->append(records);
  if (!problem && parts_.journal->size() > kCompactBytes) problem = compact();
  if (problem && !journal_fails_) parts_.log.write(log::Severity::error, problem->text());
  journal_fails_ = problem.has_value();
  if (!problem) return;
  ++counts_.journal_failures;
  for (const JournalRecord& record : records) {
    // What could not be dropped is found given back by the next start.
    const bool drops = record.kind == RecordKind::drop || record.kind == RecordKind::thawed;
    if (!drops) failed.push_back(record.id);
  }
}

bool Hand::lease_is_due(TimePoint now) const {
  return parts_.lease > Duration::zero() &&
         leased_until_ - now <= parts_.lease - parts_.lease / kRenewalsPerLease;
}

JournalRecord Hand::next_lease(TimePoint now) {
  leased_until_ = now + parts_.lease;
  return {.kind = RecordKind::lease,
          .boot_id = parts_.boot_id,
          .at = leased_until_,
          .id = std::to_string(::getpid())};
}

void Hand::renew_lease() {
  const TimePoint now = parts_.loop.now();
  if (parts_.journal == nullptr || !parts_.controller.holds_any() || !lease_is_due(now)) return;
  const std::array records{next_lease(now)};
  const auto problem = parts_.journal->append(records);
  if (problem) ++counts_.journal_failures;
  if (problem && !journal_fails_) parts_.log.write(log::Severity::error, problem->text());
  journal_fails_ = problem.has_value();
}

std::optional<Problem> Hand::compact() {
  if (parts_.journal == nullptr) return std::nullopt;
  const TimePoint now = parts_.loop.now();
  std::vector<JournalRecord> records = parts_.controller.live_records(now);
  if (!records.empty() && parts_.lease > Duration::zero()) records.push_back(next_lease(now));
  return parts_.journal->compact(records);
}

void Hand::carry_out(const Update& update, TimePoint sampled) {
  const TimePoint asked = parts_.loop.now();
  parts_.containers.write_first(update);
  parts_.runtime.update(update.id, update.quota,
                        [this, update, sampled, asked, alive = alive_.watch()](
                            Outcome outcome, const std::string& text) {
                          if (!alive.over()) updated(update, sampled, asked, outcome, text);
                        });
}

void Hand::updated(const Update& update, TimePoint sampled, TimePoint asked, Outcome outcome,
                   const std::string& text) {
  const TimePoint now = parts_.loop.now();
  const bool good = outcome == Outcome::ok;
  const bool throttles = !update.releases;
  counts_.update_latency += now - asked;
  if (good) {
    ++(throttles ? counts_.throttles : counts_.releases);
    if (throttles) counts_.reaction += now - sampled;
    if (throttles) counts_.reaction_max = std::max(counts_.reaction_max, now - sampled);
  } else {
    ++counts_.update_failures;
  }
  parts_.log.write(good ? log::Severity::info : log::Severity::warning,
                   throttles ? "throttle" : "release",
                   {{"container", shown(update.id)},
                    {"id", update.id.substr(0, kIdShown)},
                    {"quota", show(update.quota)},
                    {"outcome", std::string{name_of(outcome)}},
                    {"took_ms", milliseconds(now - asked)},
                    {"since_sample_ms", milliseconds(now - sampled)},
                    {"why", update.why},
                    {"error", good ? "" : text}});
  carry_out(parts_.controller.answered(update.call, outcome, now), now);
}

void Hand::carry_out(const Freeze& freeze, TimePoint sampled) {
  parts_.containers.freeze(freeze, [this, freeze, sampled, alive = alive_.watch()](
                                       Outcome outcome, const std::string& text) {
    if (alive.over()) return;
    const TimePoint now = parts_.loop.now();
    const bool good = outcome == Outcome::ok;
    if (good) {
      ++(freeze.frozen ? counts_.freezes : counts_.thaws);
    } else {
      ++counts_.update_failures;
    }
    parts_.log.write(good ? log::Severity::info : log::Severity::warning,
                     freeze.frozen ? "freeze" : "thaw",
                     {{"container", shown(freeze.id)},
                      {"id", freeze.id.substr(0, kIdShown)},
                      {"outcome", std::string{name_of(outcome)}},
                      {"since_sample_ms", milliseconds(now - sampled)},
                      {"why", freeze.why},
                      {"error", good ? "" : text}});
    carry_out(parts_.controller.answered(freeze.call, outcome, now), now);
  });
}

void Hand::carry_out(const ReadBack& read) {
  parts_.containers.read_quota(read.id,
                               [this, call = read.call, alive = alive_.watch()](auto in_kernel) {
                                 if (alive.over()) return;
                                 const TimePoint now = parts_.loop.now();
                                 carry_out(parts_.controller.read_back(call, in_kernel, now), now);
                               });
}

void Hand::carry_out(const Stop& stop) {
  ++counts_.stops;
  stopped_.push_back(stop.id);
  if (stopped_.size() > kStoppedMax) stopped_.pop_front();
  parts_.log.write(log::Severity::warning, "sacrifice",
                   {{"container", shown(stop.id)},
                    {"id", stop.id.substr(0, kIdShown)},
                    {"grace_ms", milliseconds(stop.grace)},
                    {"why", stop.why}});
  parts_.runtime.stop(
      stop.id, stop.grace,
      [this, stop, alive = alive_.watch()](Outcome outcome, const std::string& text) {
        if (alive.over()) return;
        if (outcome != Outcome::ok) {
          parts_.log.write(log::Severity::warning, "sacrifice failed",
                           {{"id", stop.id.substr(0, kIdShown)}, {"error", text}});
        }
        const TimePoint now = parts_.loop.now();
        carry_out(parts_.controller.answered(stop.call, outcome, now), now);
      });
}

void Hand::tell(const Alarm& alarm) {
  ++counts_.alarms;
  parts_.log.write(log::Severity::warning, alarm.text, {{"container", shown(alarm.id)}});
}

}  // namespace sluice::node_agent
