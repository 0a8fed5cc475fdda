#include "tests/soak/app/journal.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
#include <utility>

namespace sluice::soak {

double monotonic_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

Journal::Journal(const std::string& path, std::string pod, int limit)
    : file_{::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)},
      pod_{std::move(pod)},
      limit_{limit} {}

Journal::~Journal() {
  if (file_ >= 0) ::close(file_);
}

void Journal::begin(std::string_view id) {
  ++running_;
  ++begun_;
  newest_ = id;
  write('B', id);
}

void Journal::end(std::string_view id) {
  write('E', id);
  --running_;
}

void Journal::abandon(std::string_view id) {
  write('A', id);
  --running_;
}

void Journal::write(char what, std::string_view id) const {
  char line[512];
  const int size =
      std::snprintf(line, sizeof line, "%c %.*s %s %.6f %d\n", what, static_cast<int>(id.size()),
                    id.data(), pod_.c_str(), monotonic_seconds(), running_);
  if (size <= 0 || size >= static_cast<int>(sizeof line) ||
      ::write(file_, line, static_cast<std::size_t>(size)) != size) {
    std::perror("soak_app: the journal could not be written");
    std::abort();
  }
}

}  // namespace sluice::soak
