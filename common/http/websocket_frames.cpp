#include "common/http/websocket_frames.h"

#include <algorithm>

namespace sluice::http {

std::size_t WebSocketFrames::advance(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (payload_left_ == 0) {
      take_header(bytes[at++]);
      if (between()) return at;  // a frame without payload
      continue;
    }
    const std::size_t piece = static_cast<std::size_t>(
        std::min<std::uint64_t>(payload_left_, static_cast<std::uint64_t>(bytes.size() - at)));
    payload_left_ -= piece;
    at += piece;
    if (payload_left_ == 0) return at;
  }
  return at;
}

void WebSocketFrames::take_header(char c) {
  constexpr std::uint8_t kClose = 0x8;
  const auto octet = static_cast<std::uint8_t>(c);
  if (header_size_ == 0) {
    if ((octet & 0x0fU) == kClose) closed_ = true;
  } else if (header_size_ == 1) {
    const std::uint8_t length = octet & 0x7fU;
    masked_ = (octet & 0x80U) != 0;
    length_bytes_ = length == 127 ? 8 : length == 126 ? 2 : 0;
    length_ = length_bytes_ == 0 ? length : 0;
    header_whole_ = static_cast<std::uint8_t>(2 + length_bytes_ + (masked_ ? 4 : 0));
  } else if (header_size_ < 2 + length_bytes_) {
    length_ = (length_ << 8U) | octet;
  }
  if (++header_size_ < header_whole_) return;
  payload_left_ = length_;
  header_size_ = 0;
  header_whole_ = 2;
}

}  // namespace sluice::http
