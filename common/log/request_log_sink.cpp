#include "common/log/request_log_sink.h"

#include "common/time/time_point.h"

#include <climits>

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <unistd.h>

namespace sluice::log {
namespace {

constexpr std::size_t kFlushSize = 32 * 1024;
constexpr Duration kFlushPeriod = std::chrono::milliseconds{20};

bool writable(int descriptor) {
  pollfd poll{descriptor, POLLOUT, 0};
  return ::poll(&poll, 1, 0) == 1 && (poll.revents & POLLOUT) != 0;
}

}  // namespace

RequestLogSink::RequestLogSink(boost::asio::io_context& io, int descriptor, const Logger& log)
    : log_{log}, timer_{io}, descriptor_{descriptor} {}

std::string* RequestLogSink::line() {
  if (!broken_ && pending_.size() < kPendingMax) return &pending_;
  ++dropped_;
  return nullptr;
}

void RequestLogSink::appended() {
  if (pending_.size() - written_ >= kFlushSize) write_some();
  arm();
}

void RequestLogSink::flush() {
  write_some();
}

void RequestLogSink::arm() {
  if (armed_ || pending_.empty()) return;
  armed_ = true;
  timer_.expires_after(kFlushPeriod);
  timer_.async_wait([this](const boost::system::error_code& ec) {
    armed_ = false;
    if (ec) return;
    write_some();
    arm();
  });
}

// A pipe that polls as writable takes PIPE_BUF bytes without blocking, and so do terminals and
// files for all we need; more than that at once might wait. The descriptor itself cannot be made
// non-blocking, since the parent process may share it.
void RequestLogSink::write_some() {
  while (written_ < pending_.size() && writable(descriptor_)) {
    const std::size_t size = std::min<std::size_t>(PIPE_BUF, pending_.size() - written_);
    const ssize_t taken = ::write(descriptor_, pending_.data() + written_, size);
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0 && errno == EAGAIN) break;
    if (taken < 0) {
      broken_ = true;
      written_ = pending_.size();
      log_.write(Severity::error, "request log: standard output cannot be written; logging stops");
      break;
    }
    written_ += static_cast<std::size_t>(taken);
  }
  if (written_ < pending_.size()) {
    // What a slow reader has taken makes room for more.
    if (written_ >= kPendingMax / 4) {
      pending_.erase(0, written_);
      written_ = 0;
    }
    return;
  }
  pending_.clear();
  written_ = 0;
  if (dropped_ > told_ && !broken_) {
    log_.write(Severity::warning,
               "request log: standard output was not read in time; lines were lost",
               {{"lines", std::to_string(dropped_ - told_)}});
    told_ = dropped_;
  }
}

}  // namespace sluice::log
