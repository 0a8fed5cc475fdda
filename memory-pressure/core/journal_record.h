#pragma once

#include "common/base/result.h"

#include "memory-pressure/core/node.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::node_agent {

/// A line of the write-ahead journal (memory-pressure.md 5.7).
enum class RecordKind : std::uint8_t {
  throttle,   ///< is about to get `ours`; had `original`
  drop,       ///< has its original again, or is gone
  sacrifice,  ///< is about to be stopped by us
  frozen,     ///< is about to be frozen; its control group is `cgroup`
  thawed,     ///< runs again, or is gone
  lease,      ///< the process `id` is responsible for all listed until `at`
};

struct JournalRecord {
  RecordKind kind = RecordKind::throttle;
  std::string boot_id{};
  std::uint64_t generation = 0;  ///< grows with each record, across starts
  TimePoint at{};                ///< to the millisecond
  std::string id{};              ///< of the container; of a lease the process that gives it
  std::string pod_uid{};
  std::uint32_t attempt = 0;
  CpuQuota original{};
  CpuQuota ours{};
  std::uint32_t ladder_step = 0;
  std::string cgroup{};  ///< of one that is frozen
  std::string why{};     ///< cut after kWhyMax bytes

  friend bool operator==(const JournalRecord&, const JournalRecord&) = default;
};

inline constexpr std::size_t kWhyMax = 256;
/// Who has a longer path is not frozen: its record would not fit its line.
inline constexpr std::size_t kCgroupMax = 1024;

/// One line of printable ASCII with its newline: `<checksum> kind key=value ...`.
[[nodiscard]] std::string encode(const JournalRecord& record);

/// The record of one line, with or without its newline. A wrong checksum, an unknown kind or a
/// number out of range is a Problem; keys that are not known are skipped.
[[nodiscard]] Result<JournalRecord, Problem> decode(std::string_view line);

}  // namespace sluice::node_agent
