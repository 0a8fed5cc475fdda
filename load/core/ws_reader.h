#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::loadgen {

/// Reads what a server sends on a WebSocket (RFC 6455): the head of its answer to the handshake,
/// then frames. Of messages only the size is kept.
class WsReader {
 public:
  static constexpr std::size_t kHeadBytesMax = 16U << 10U;

  enum class Event : std::uint8_t {
    more,     ///< all bytes are read, nothing is whole
    opened,   ///< the server has agreed
    message,  ///< a message has ended: message_bytes()
    ping,     ///< it wants payload() back
    close,    ///< it says that nothing follows
    invalid,  ///< these bytes may not come: problem()
  };

  /// `accept`: what the server has to answer to the key; outlives the reader.
  explicit WsReader(std::string_view accept) : accept_{accept} {}

  /// Reads from the front of `bytes` up to the next event, and removes what it has read.
  [[nodiscard]] Event take(std::string_view& bytes);

  [[nodiscard]] std::uint64_t message_bytes() const { return message_bytes_; }

  [[nodiscard]] const std::string& payload() const { return text_; }

  [[nodiscard]] const std::string& problem() const { return text_; }

 private:
  Event take_head(std::string_view& bytes);
  Event judge_head();
  Event take_frame(std::string_view& bytes);
  Event begin_frame();
  Event end_frame();
  Event fail(std::string why);

  std::string_view accept_;
  std::string
      text_;  // the head, the header of a frame or the payload of a ping, as far as they are
  bool open_ = false;
  bool in_payload_ = false;
  bool in_message_ = false;  // a fragment has come that is not the last
  unsigned char opcode_ = 0;
  bool final_ = false;
  std::uint64_t left_ = 0;  // of the payload
  std::uint64_t message_bytes_ = 0;
};

}  // namespace sluice::loadgen
