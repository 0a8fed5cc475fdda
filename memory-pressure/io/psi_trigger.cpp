#include "memory-pressure/io/psi_trigger.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace sluice::node_agent {
namespace {

struct Window {
  int seconds;
  std::string_view trigger;  // stalled microseconds within a window of microseconds
};

// Without CAP_SYS_RESOURCE the kernel takes multiples of two seconds only.
constexpr Window kWindows[] = {{1, "some 50000 1000000"}, {2, "some 100000 2000000"}};

int write_trigger(int descriptor, std::string_view trigger) {
  // The kernel wants the terminating zero.
  const std::string text{trigger};
  const ssize_t written = ::write(descriptor, text.c_str(), text.size() + 1);
  return written < 0 ? errno : 0;
}

}  // namespace

PsiTrigger::PsiTrigger(boost::asio::io_context& io, std::function<void()> woken)
    : PsiTrigger{io, std::move(woken), write_trigger} {}

PsiTrigger::PsiTrigger(boost::asio::io_context& io, std::function<void()> woken, Write write)
    : file_{io}, woken_{std::move(woken)}, write_{std::move(write)} {}

int PsiTrigger::arm(const std::string& path) {
  boost::system::error_code ignored;
  file_.close(ignored);
  if (path.empty()) return 0;
  for (const Window& window : kWindows) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return 0;
    if (write_(descriptor, window.trigger) != 0) {
      ::close(descriptor);
      continue;
    }
    boost::system::error_code failed;
    file_.assign(descriptor, failed);
    if (failed) {  // not a file that can be waited for
      ::close(descriptor);
      return 0;
    }
    wait();
    return window.seconds;
  }
  return 0;
}

void PsiTrigger::wait() {
  // The trigger shows as an exceptional condition (POLLPRI), once per window.
  file_.async_wait(boost::asio::posix::stream_descriptor::wait_error,
                   [this, alive = alive_.watch()](const auto& error) {
                     if (error || alive.over()) return;
                     woken_();
                     if (!alive.over()) wait();
                   });
}

}  // namespace sluice::node_agent
