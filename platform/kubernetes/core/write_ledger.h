#pragma once

#include "common/time/time_point.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace sluice::autoscaler {

/// What was written to each object, until it shows: between an answer of the API server and the
/// watch that shows it, the same write is not made again.
class WriteLedger {
 public:
  /// A write that does not show for so long is made again.
  static constexpr Duration kPatience = std::chrono::seconds{5};

  enum class Verdict : std::uint8_t {
    send,
    on_its_way,  ///< to the server, or shown by a watch soon
    outdated,    ///< another text is on its way: to be sent if that one can still be held back
  };

  /// Whether `body` is to be sent to `object` now. One write of an object is on its way at a time.
  [[nodiscard]] Verdict judge(const std::string& object, std::string_view body,
                              TimePoint now) const;

  /// Something was written to `object` that the watch has not shown yet.
  [[nodiscard]] bool unseen(const std::string& object, TimePoint now) const;

  void sent(const std::string& object, std::string_view body);
  void answered(const std::string& object, bool ok, TimePoint now);

  /// The object has changed: whatever was written before may be written again.
  void seen(const std::string& object);

  void forget_settled(TimePoint now);

  [[nodiscard]] std::size_t size() const { return written_.size(); }

 private:
  struct Written {
    std::size_t body = 0;  // its hash
    bool flying = false;
    TimePoint answered{};
  };

  std::map<std::string, Written> written_;
};

}  // namespace sluice::autoscaler
