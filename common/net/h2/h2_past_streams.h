#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::net {

/// What is certain about streams of a client that are over, or never were: whether a HEADERS or
/// DATA frame that comes for one is the client's error (RFC 9113, 5.1 and 5.1.1). Only what the
/// client ended itself counts: of a stream that we reset, frames may still be on their way.
/// Remembers the newest few; of older ones nothing is certain, and their frames are ignored.
class H2PastStreams {
 public:
  static constexpr std::size_t kEndedMax = 64;  ///< streams that are remembered
  static constexpr std::size_t kGapsMax = 8;  ///< ranges of numbers that were passed over, likewise

  enum class Verdict : std::uint8_t {
    unknown,       ///< nothing can be said against the frame
    behind_end,    ///< the client has sent END_STREAM: an error of the connection
    behind_reset,  ///< the client has sent RST_STREAM: an error of the stream
    never_opened,  ///< a higher number was used first: an error of the connection
  };

  /// A HEADERS frame opens `stream`, of a client's numbers, if it is a new one.
  void opened(std::int32_t stream);

  /// The client has ended its side, or all of it.
  void ended(std::int32_t stream, bool by_reset);

  /// The answer to a HEADERS or DATA frame on `stream`, which is not open.
  [[nodiscard]] Verdict look(std::int32_t stream) const;

 private:
  struct Ended {
    std::int32_t stream = 0;
    bool by_reset = false;
  };

  struct Gap {
    std::int32_t first = 0;
    std::int32_t last = -1;
  };

  std::array<Ended, kEndedMax> ended_{};  // rings
  std::array<Gap, kGapsMax> gaps_{};
  std::size_t next_ended_ = 0;
  std::size_t next_gap_ = 0;
  std::int32_t highest_ = -1;
};

}  // namespace sluice::net
