#include "common/net/server/page_return.h"

#include "common/net/h2/h2_memory.h"

#include <chrono>
#include <malloc.h>

namespace sluice::net {
namespace {

// A flood frees for a while, and the look for pages costs the more the more there are.
constexpr Duration kAfter = std::chrono::seconds{1};

}  // namespace

void keep_freed_pages() {
  ::mallopt(M_TRIM_THRESHOLD, 1 << 20);
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
}

void PageReturn::wait() {
  waiting_ = true;
  timer_.expires_after(kAfter);
  timer_.async_wait([this, alive = alive_.watch()](const boost::system::error_code& ec) {
    if (alive.over() || ec) return;
    waiting_ = false;
    freed_ = 0;
    return_freed_pages();
  });
}

}  // namespace sluice::net
