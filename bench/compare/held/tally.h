#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace sluice::held {

/// Nanoseconds of the machine's monotonic clock, which all processes share.
[[nodiscard]] std::int64_t now_ns();

/// What a set of requests came to.
class Tally {
 public:
  void sent() { ++outstanding_; }

  /// `status`: 0 when the connection ended instead.
  void answered(int status) {
    const std::int64_t now = now_ns();
    if (first_ns_ == 0) first_ns_ = now;
    last_ns_ = now;
    ++statuses_[status];
    if (--outstanding_ == 0 && quiet_) quiet_();
  }

  /// Text of the last response other than 200.
  void failed(const std::string& text) {
    sample_.clear();
    for (const char c : text.substr(0, 200)) {
      if (c >= ' ' && c != '"' && c != '\\') sample_ += c;
    }
  }

  [[nodiscard]] std::size_t outstanding() const { return outstanding_; }

  /// Called whenever nothing is outstanding any more.
  void on_quiet(std::function<void()> quiet) { quiet_ = std::move(quiet); }

  /// As JSON; resets the counts.
  [[nodiscard]] std::string take() {
    std::string text = "{\"first_ns\":" + std::to_string(first_ns_) +
                       ",\"last_ns\":" + std::to_string(last_ns_) + ",\"sample\":\"" + sample_ +
                       "\",\"statuses\":{";
    for (const auto& [status, count] : statuses_) {
      text += (text.ends_with('{') ? "\"" : ",\"") + std::to_string(status) +
              "\":" + std::to_string(count);
    }
    statuses_.clear();
    first_ns_ = last_ns_ = 0;
    return text + "}}";
  }

 private:
  std::map<int, std::uint64_t> statuses_;
  std::string sample_;
  std::function<void()> quiet_;
  std::size_t outstanding_ = 0;
  std::int64_t first_ns_ = 0;
  std::int64_t last_ns_ = 0;
};

}  // namespace sluice::held
