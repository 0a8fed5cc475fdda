#include "common/net/server/process_facts.h"

#include <array>
#include <cstdio>
#include <dirent.h>
#include <memory>
#include <optional>
#include <sys/resource.h>
#include <unistd.h>

namespace sluice::metrics {
namespace {

struct Pages {
  long total = 0;
  long resident = 0;
};

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

std::optional<Pages> pages() {
  const std::unique_ptr<std::FILE, CloseFile> file{std::fopen("/proc/self/statm", "re")};
  Pages pages;
  if (!file || std::fscanf(file.get(), "%ld %ld", &pages.total, &pages.resident) != 2) {
    return std::nullopt;
  }
  return pages;
}

std::optional<std::uint64_t> open_descriptors() {
  const std::unique_ptr<DIR, CloseDirectory> directory{::opendir("/proc/self/fd")};
  if (!directory) return std::nullopt;
  std::uint64_t count = 0;
  while (const dirent* entry = ::readdir(directory.get())) count += entry->d_name[0] != '.' ? 1 : 0;
  return count - 1;  // the one that lists them
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

void write_process_facts(Exposition& text, double started) {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    text.family("process_cpu_seconds_total", MetricType::counter,
                "User and system CPU time in seconds.");
    text.value({}, seconds(usage.ru_utime) + seconds(usage.ru_stime));
  }
  if (const auto memory = pages()) {
    const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
    text.family("process_resident_memory_bytes", MetricType::gauge,
                "Resident memory size in bytes.");
    text.value({}, static_cast<double>(memory->resident) * page);
    text.family("process_virtual_memory_bytes", MetricType::gauge, "Virtual memory size in bytes.");
    text.value({}, static_cast<double>(memory->total) * page);
  }
  if (const auto open = open_descriptors()) {
    text.family("process_open_fds", MetricType::gauge, "Number of open file descriptors.");
    text.count({}, *open);
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    text.family("process_max_fds", MetricType::gauge, "Limit on open file descriptors.");
    text.value({}, static_cast<double>(limit.rlim_cur));
  }
  text.family("process_start_time_seconds", MetricType::gauge,
              "Start time of the process, Unix time in seconds.");
  text.value({}, started);
}

std::string socket_counts() {
  const std::unique_ptr<std::FILE, CloseFile> file{std::fopen("/proc/net/sockstat", "re")};
  if (!file) return {};
  std::array<char, 1024> bytes{};
  std::string counts{bytes.data(), std::fread(bytes.data(), 1, bytes.size(), file.get())};
  while (counts.ends_with('\n')) counts.pop_back();
  for (std::size_t at = 0; (at = counts.find('\n', at)) != std::string::npos; at += 2) {
    counts.replace(at, 1, "; ");
  }
  return counts;
}

}  // namespace sluice::metrics
