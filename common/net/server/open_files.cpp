#include "common/net/server/open_files.h"

#include <algorithm>
#include <sys/resource.h>

namespace sluice::net {
namespace {

constexpr rlim_t kEnough = 1 << 20;  // tables of descriptors are not free
constexpr std::uint64_t kLeastConnections = 64;

}  // namespace

OpenFiles raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {1024, 1024};
  const rlim_t wanted = std::min(std::max(limit.rlim_max, limit.rlim_cur), kEnough);
  if (wanted > limit.rlim_cur) {
    rlimit raised{wanted, limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) return {limit.rlim_cur, wanted};
  }
  return {limit.rlim_cur, limit.rlim_cur};
}

std::size_t connections_within(std::uint64_t open, std::size_t wanted) {
  return std::min<std::size_t>(wanted, std::max(kLeastConnections, open - open / 4));
}

}  // namespace sluice::net
