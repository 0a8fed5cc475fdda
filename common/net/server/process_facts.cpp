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

void write_process_facts(Families& families, double started) {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    families.counter("process_cpu_seconds_total", "User and system CPU time in seconds.",
                     seconds(usage.ru_utime) + seconds(usage.ru_stime));
  }
  if (const auto memory = pages()) {
    const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
    families.gauge("process_resident_memory_bytes", "Resident memory size in bytes.",
                   static_cast<double>(memory->resident) * page);
    families.gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.",
                   static_cast<double>(memory->total) * page);
  }
  if (const auto open = open_descriptors()) {
    families.gauge("process_open_fds", "Number of open file descriptors.", *open);
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    families.gauge("process_max_fds", "Limit on open file descriptors.", limit.rlim_cur);
  }
  families.gauge("process_start_time_seconds", "Start time of the process, Unix time in seconds.",
                 started);
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
