#include "memory-pressure/io/memory_sense.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <string_view>
#include <utility>

namespace sluice::node_agent {
namespace {

constexpr std::string_view kGroup = "cgroup:";
constexpr std::int64_t kKibibyte = 1024;

// v1 shows "no limit" as the largest multiple of a page.
constexpr std::int64_t kNoLimit =
    std::numeric_limits<std::int64_t>::max() - (std::int64_t{1} << 20);

bool exists(const std::string& path) {
  std::error_code failed;
  return std::filesystem::exists(path, failed);
}

// `some avg10=0.12 avg60=…`: the first average of the line that begins with `word`.
std::optional<double> average(std::string_view text, std::string_view word) {
  const std::size_t line = text.find(word);
  if (line == std::string_view::npos) return std::nullopt;
  constexpr std::string_view kKey = "avg10=";
  const std::size_t at = text.find(kKey, line);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(at + kKey.size());
  double value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || stop == digits.data()) return std::nullopt;
  return value;
}

Problem no_group(const std::string& path) {
  return {"--memory-source: there is no memory control group " + path,
          "give cgroup:PATH of a group that exists, or proc for the whole machine"};
}

struct Found {
  std::string directory;
  std::string path;  // of the group itself; empty when it is not below the mount
  bool v2;
};

std::optional<Found> find_group(const std::string& path, const CgroupMounts& mounts,
                                const std::string& root) {
  const CgroupMount& memory = mounts.memory;
  std::vector<Found> places;
  if (memory) {
    if ((root + path).starts_with(memory.point + "/")) {
      places.push_back({root + path, (root + path).substr(memory.point.size()), memory.v2});
    }
    places.push_back({memory.directory(path), path, memory.v2});
  }
  for (Found& place : places) {
    const char* file = place.v2 ? "/memory.current" : "/memory.usage_in_bytes";
    if (!place.directory.empty() && exists(place.directory + file)) return place;
  }
  return std::nullopt;
}

}  // namespace

MemoryGroup::MemoryGroup(const std::string& directory, bool v2)
    : v2_{v2},
      usage_{directory + (v2 ? "/memory.current" : "/memory.usage_in_bytes"),
             KernelFile::Made::at_once},
      stat_{directory + "/memory.stat", KernelFile::Made::at_once},
      limit_{directory + (v2 ? "/memory.max" : "/memory.limit_in_bytes"),
             KernelFile::Made::at_once},
      swap_{v2 ? directory + "/memory.swap.current" : std::string{}, KernelFile::Made::at_once} {}

std::optional<std::int64_t> MemoryGroup::working_set() {
  const auto usage_text = usage_.read(buffer_);
  if (!usage_text) return std::nullopt;
  const auto usage = first_number(*usage_text);
  const auto stat = stat_.read(buffer_);
  if (!usage || !stat) return std::nullopt;
  const auto cold = number_after(*stat, v2_ ? "inactive_file" : "total_inactive_file");
  swap_in_stat_ = v2_ ? 0 : number_after(*stat, "total_swap").value_or(0);
  return std::max<std::int64_t>(0, *usage - cold.value_or(0));
}

std::int64_t MemoryGroup::swap() {
  if (!v2_) return swap_in_stat_;
  const auto text = swap_.read(buffer_);
  return text ? first_number(*text).value_or(0) : 0;
}

std::optional<std::int64_t> MemoryGroup::limit() {
  const auto text = limit_.read(buffer_);
  if (!text) return std::nullopt;
  const auto limit = first_number(*text);
  if (!limit) return std::nullopt;
  return *limit >= kNoLimit ? 0 : *limit;
}

MemorySense::MemorySense(const std::string& root, KernelFile stall)
    : meminfo_{root + "/proc/meminfo"}, stall_{std::move(stall)} {}

Result<MemorySense, Problem> MemorySense::open(const std::string& source, const std::string& root) {
  const CgroupMounts mounts = find_cgroup_mounts(root);
  if (source == "proc") {
    const std::string pressure = root + "/proc/pressure/memory";
    MemorySense sense{root, KernelFile{exists(pressure) ? pressure : std::string{}}};
    sense.shown_ = "/proc";
    if (!sense.read_machine()) {
      return Problem{"/proc/meminfo cannot be read", "run where /proc is mounted"};
    }
    // What the kubelet gives to all pods together may be less than the machine has.
    for (const char* pods : {"/kubepods.slice", "/kubepods"}) {
      if (const auto found = find_group(pods, mounts, root)) {
        sense.groups_.emplace_back(found->directory, found->v2);
      }
    }
    return sense;
  }
  if (!source.starts_with(kGroup)) {
    return Problem{"--memory-source '" + source + "' is unknown", "give proc or cgroup:PATH"};
  }
  const std::string path = source.substr(kGroup.size());
  const auto found = path.starts_with('/') ? find_group(path, mounts, root) : std::nullopt;
  if (!found) return no_group(path);
  const std::string beside =
      mounts.unified ? mounts.unified.directory(found->path) + "/memory.pressure" : std::string{};
  MemorySense sense{root, KernelFile{exists(beside) ? beside : std::string{}}};
  sense.machine_ = false;
  sense.groups_.emplace_back(found->directory, found->v2);
  sense.group_ = found->path;
  sense.shown_ = std::string{"cgroup "} + (found->v2 ? "v2 " : "v1 ") + found->directory;
  return sense;
}

std::optional<NodeMemory> MemorySense::read() {
  const auto machine = read_machine();
  std::optional<NodeMemory> memory;
  if (machine_) memory = machine;
  if (!machine_ || machine) {
    for (MemoryGroup& group : groups_) {
      const auto other = read_group(group, machine ? machine->capacity : 0);
      if (!other) continue;
      const bool tighter =
          !memory || other->capacity - other->used < memory->capacity - memory->used;
      if (tighter) memory = other;
    }
  }
  if (memory) memory->stall = read_stall();
  return memory;
}

std::optional<NodeMemory> MemorySense::read_machine() {
  const auto text = meminfo_.read(buffer_);
  if (!text) return std::nullopt;
  const auto total = number_after(*text, "MemTotal");
  const auto available = number_after(*text, "MemAvailable");
  if (!total || !available || *total <= 0) return std::nullopt;
  const std::int64_t swap =
      number_after(*text, "SwapTotal").value_or(0) - number_after(*text, "SwapFree").value_or(0);
  return NodeMemory{.capacity = *total * kKibibyte,
                    .used = (*total - *available + std::max<std::int64_t>(0, swap)) * kKibibyte,
                    .stall = std::nullopt};
}

std::optional<NodeMemory> MemorySense::read_group(MemoryGroup& group, std::int64_t machine) {
  const auto limit = group.limit();
  const auto used = group.working_set();
  if (!limit || !used) return std::nullopt;
  std::int64_t capacity = *limit;
  if (machine > 0 && (capacity == 0 || capacity > machine)) capacity = machine;
  if (capacity == 0) return std::nullopt;
  return NodeMemory{.capacity = capacity, .used = *used + group.swap(), .stall = std::nullopt};
}

std::optional<Stall> MemorySense::read_stall() {
  const auto text = stall_.read(buffer_);
  if (!text) return std::nullopt;
  const auto some = average(*text, "some");
  if (!some) return std::nullopt;
  return Stall{.some_avg10 = *some, .full_avg10 = average(*text, "full").value_or(0)};
}

}  // namespace sluice::node_agent
