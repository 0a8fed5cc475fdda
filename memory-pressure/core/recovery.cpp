#include "memory-pressure/core/recovery.h"

#include "memory-pressure/core/quota.h"
#include <algorithm>
#include <map>

namespace sluice::node_agent {
namespace {

/// The records of one container since it was last dropped.
struct History {
  JournalRecord last;
  std::vector<CpuQuota> ours;
};

void fold(const JournalRecord& record, std::map<std::string, History>& histories,
          std::map<std::string, JournalRecord>& frozen, Recovery& recovery) {
  switch (record.kind) {
    case RecordKind::throttle: {
      History& history = histories[record.id];
      history.last = record;
      history.ours.push_back(record.ours);
      return;
    }
    case RecordKind::drop:
      histories.erase(record.id);
      return;
    case RecordKind::sacrifice:
      recovery.sacrificed.push_back(record.id);
      return;
    case RecordKind::frozen:
      frozen[record.id] = record;
      return;
    case RecordKind::thawed:
      frozen.erase(record.id);
      return;
    case RecordKind::lease:
      recovery.lease = Lease{.by = record.id, .until = record.at};
      return;
  }
}

bool is_ours(const CpuQuota& in_kernel, const History& history) {
  // Each value was written down before it was sent, and the kernel may be one behind.
  return is_signature(in_kernel) ||
         std::any_of(history.ours.begin(), history.ours.end(),
                     [&](const CpuQuota& sent) { return is_as_sent(in_kernel, sent); });
}

/// By the start of the container; of one that is not listed by when it was frozen.
std::vector<JournalRecord> oldest_first(const std::map<std::string, JournalRecord>& frozen,
                                        const Observation& seen) {
  std::vector<std::pair<TimePoint, const JournalRecord*>> aged;
  aged.reserve(frozen.size());
  for (const auto& [id, record] : frozen) aged.emplace_back(record.at, &record);
  for (auto& [since, record] : aged) {
    for (const Container& container : seen.containers) {
      if (container.id == record->id) since = container.started;
    }
  }
  std::stable_sort(aged.begin(), aged.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<JournalRecord> ordered;
  ordered.reserve(aged.size());
  for (const auto& [since, record] : aged) ordered.push_back(*record);
  return ordered;
}

}  // namespace

CpuQuota stray_original(const Container& container) {
  return normalised({.quota_us = container.pod_quota_us, .period_us = kPeriodUs});
}

Recovery recover(std::string_view journal, std::string_view boot_id, const Observation& seen) {
  Recovery recovery;
  std::map<std::string, History> histories;
  std::map<std::string, JournalRecord> frozen;
  while (!journal.empty()) {
    const std::size_t end = std::min(journal.find('\n'), journal.size());
    const auto record = decode(journal.substr(0, end));
    journal.remove_prefix(std::min(end + 1, journal.size()));
    if (!record || record->boot_id != boot_id) {
      ++recovery.skipped_lines;
      continue;
    }
    recovery.generation = std::max(recovery.generation, record->generation);
    fold(*record, histories, frozen, recovery);
  }
  for (const Container& container : seen.containers) {
    const bool stray = container.frozen.value_or(false) && container.marks.batch &&
                       !container.cgroup.empty() && !frozen.contains(container.id);
    if (stray) recovery.strays.push_back({.id = container.id, .cgroup = container.cgroup});
    const auto found = histories.find(container.id);
    if (found == histories.end()) {
      if (container.quota && is_signature(*container.quota)) {
        recovery.strays.push_back({container.id, stray_original(container)});
      }
      continue;
    }
    const History& history = found->second;
    // An original that the kernel shows again needs nothing; one that cannot be read is given back
    // to be sure.
    const bool original =
        container.quota && is_as_sent(*container.quota, normalised(history.last.original));
    if (!container.quota || (!original && is_ours(*container.quota, history))) {
      recovery.ours.push_back(history.last);
    } else {
      recovery.watched.push_back(history.last);
      recovery.watched.back().original = normalised(*container.quota);
    }
    histories.erase(found);
  }
  recovery.frozen = oldest_first(frozen, seen);
  for (const auto& [id, history] : histories) recovery.forgotten.push_back(id);
  return recovery;
}

}  // namespace sluice::node_agent
