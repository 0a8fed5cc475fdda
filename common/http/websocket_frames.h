#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::http {

/// A Close frame from a server with status 1001, "going away" (RFC 6455 section 7.4.1).
inline constexpr std::string_view kGoingAwayFrame{"\x88\x02\x03\xe9", 4};

/// Follows one direction of a WebSocket to find where its frames end: only between two frames may a
/// Close be put into the stream. Reads frame headers, counts payload, keeps neither.
class WebSocketFrames {
 public:
  /// Passes over bytes up to the end of the frame they are in, or of the first that they begin;
  /// returns how many those are.
  std::size_t advance(std::string_view bytes);

  /// Passes over all of them.
  void feed(std::string_view bytes) {
    while (!bytes.empty()) bytes.remove_prefix(advance(bytes));
  }

  /// Whether a frame may be put in here.
  [[nodiscard]] bool between() const { return payload_left_ == 0 && header_size_ == 0; }

  /// Whether a Close frame has begun: nothing may follow it.
  [[nodiscard]] bool closed() const { return closed_; }

 private:
  void take_header(char c);

  std::uint64_t payload_left_ = 0;
  std::uint64_t length_ = 0;
  std::uint8_t header_size_ = 0;   // bytes of the present frame's header seen
  std::uint8_t header_whole_ = 2;  // bytes it has, as far as is known
  std::uint8_t length_bytes_ = 0;  // of the extended length
  bool masked_ = false;
  bool closed_ = false;
};

}  // namespace sluice::http
