#include "common/log/failure_log.h"

#include <chrono>
#include <string>

namespace sluice::log {
namespace {

constexpr int kFailuresPerSecond = 10;

}  // namespace

bool FailureLog::admits(TimePoint now) {
  if (now - since_ >= std::chrono::seconds{1} || now < since_) {
    if (omitted_ > 0) {
      log_.write(Severity::warning, "more requests failed than were logged",
                 {{"requests", std::to_string(omitted_)}});
    }
    since_ = now;
    written_ = 0;
    omitted_ = 0;
  }
  if (written_ >= kFailuresPerSecond) {
    ++omitted_;
    return false;
  }
  ++written_;
  return true;
}

}  // namespace sluice::log
