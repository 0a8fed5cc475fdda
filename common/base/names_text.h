#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice {

/// Names in a message, of which only the first are written: `shop, cart and 40 more`.
class NamesText {
 public:
  static constexpr std::size_t kShown = 20;

  void add(std::string_view name) {
    if (count_++ >= kShown) return;
    if (!shown_.empty()) shown_ += ", ";
    shown_ += name;
  }

  /// Empty: there is none.
  [[nodiscard]] std::string text() const {
    return count_ > kShown ? shown_ + " and " + std::to_string(count_ - kShown) + " more" : shown_;
  }

 private:
  std::string shown_;
  std::size_t count_ = 0;
};

}  // namespace sluice
