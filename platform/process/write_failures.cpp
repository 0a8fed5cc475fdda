#include "platform/process/write_failures.h"

#include <cctype>
#include <cerrno>
#include <cstring>

namespace sluice::local {

std::string error_text(int error) {
  std::string text = std::strerror(error);
  if (!text.empty()) {
    text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
  }
  return text;
}

bool means_full(int error) {
  return error == ENOSPC || error == EDQUOT;
}

bool FailureNotice::failed(TimePoint now) {
  const bool due = !last_;
  last_ = now;
  return due;
}

bool FailureNotice::worked(TimePoint now) {
  if (!last_) return false;
  // After a step back of the clock it waits no longer than usual.
  last_ = std::min(*last_, now);
  if (now - *last_ < kSettled) return false;
  last_.reset();
  return true;
}

}  // namespace sluice::local
