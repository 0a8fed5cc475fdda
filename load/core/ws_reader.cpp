#include "load/core/ws_reader.h"

#include "common/base/clean_text.h"
#include "common/http/message.h"
#include "common/http/text.h"

#include <algorithm>
#include <utility>

namespace sluice::loadgen {

namespace {

constexpr unsigned char kContinuation = 0x0;
constexpr unsigned char kBinary = 0x2;
constexpr unsigned char kClose = 0x8;
constexpr unsigned char kPing = 0x9;
constexpr unsigned char kPong = 0xa;
constexpr std::size_t kControlMax = 125;

unsigned char byte_at(std::string_view text, std::size_t place) {
  return static_cast<unsigned char>(text[place]);
}

// How long the header of a frame is, of which the first two bytes are there.
std::size_t header_size(std::string_view header) {
  const unsigned length = byte_at(header, 1) & 0x7fU;
  return length == 126 ? 4 : length == 127 ? 10 : 2;
}

// The value of a field of a head; empty: there is none.
std::string_view field_of(std::string_view head, std::string_view name) {
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos && at + 2 < head.size();) {
    const std::size_t end = head.find("\r\n", at + 2);
    const std::string_view line = head.substr(at + 2, end - at - 2);
    const std::size_t colon = line.find(':');
    if (colon == name.size() && http::equals_ignoring_case(line.substr(0, colon), name)) {
      return http::trimmed(line.substr(colon + 1));
    }
    at = end;
  }
  return {};
}

}  // namespace

WsReader::Event WsReader::take(std::string_view& bytes) {
  return open_ ? take_frame(bytes) : take_head(bytes);
}

WsReader::Event WsReader::fail(std::string why) {
  text_ = std::move(why);
  return Event::invalid;
}

WsReader::Event WsReader::take_head(std::string_view& bytes) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  const std::size_t before = text_.size();
  text_ += bytes;
  const std::size_t end = text_.find(kEnd, before < kEnd.size() ? 0 : before - kEnd.size());
  if (end == std::string::npos) {
    bytes = {};
    if (text_.size() > kHeadBytesMax) return fail("its head is longer than 16 KiB");
    return Event::more;
  }
  bytes.remove_prefix(end + kEnd.size() - before);
  text_.resize(end + 2);
  return judge_head();
}

WsReader::Event WsReader::judge_head() {
  constexpr std::string_view kSwitched = "HTTP/1.1 101";
  if (!text_.starts_with(kSwitched)) {
    return fail("it answers the handshake with '" +
                clean_text(text_.substr(0, std::min<std::size_t>(text_.find("\r\n"), 60))) + "'");
  }
  if (field_of(text_, "sec-websocket-accept") != accept_) {
    return fail("its Sec-WebSocket-Accept does not belong to the key of the handshake");
  }
  std::string{}.swap(text_);
  open_ = true;
  return Event::opened;
}

WsReader::Event WsReader::take_frame(std::string_view& bytes) {
  if (!in_payload_ && opcode_ == kPing) {
    text_.clear();  // what was to be given back
    opcode_ = kContinuation;
  }
  while (!bytes.empty() || (in_payload_ && left_ == 0)) {
    if (in_payload_) {
      const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
      if (opcode_ == kPing) text_ += bytes.substr(0, part);
      if (opcode_ <= kBinary) message_bytes_ += part;
      bytes.remove_prefix(part);
      left_ -= part;
      if (left_ > 0) return Event::more;
      const Event event = end_frame();
      if (event != Event::more) return event;
      continue;
    }
    const std::size_t whole = text_.size() < 2 ? 2 : header_size(text_);
    const std::size_t part = std::min(whole - text_.size(), bytes.size());
    text_ += bytes.substr(0, part);
    bytes.remove_prefix(part);
    if (text_.size() < 2 || text_.size() < header_size(text_)) continue;
    if (begin_frame() == Event::invalid) return Event::invalid;
  }
  return Event::more;
}

// The header of a frame is whole.
WsReader::Event WsReader::begin_frame() {
  const unsigned char first = byte_at(text_, 0);
  opcode_ = first & 0x0fU;
  final_ = (first & 0x80U) != 0;
  left_ = byte_at(text_, 1) & 0x7fU;
  if (text_.size() > 2) left_ = 0;
  for (std::size_t i = 2; i < text_.size(); ++i) left_ = left_ << 8U | byte_at(text_, i);
  const bool masked = (byte_at(text_, 1) & 0x80U) != 0;
  text_.clear();
  const bool control = opcode_ >= kClose;
  if ((first & 0x70U) != 0) return fail("a frame has bits of an extension that was not agreed on");
  if (masked) return fail("a frame of the server is masked");
  if (opcode_ > kPong || (opcode_ > kBinary && !control)) {
    return fail("a frame has the unknown opcode " + std::to_string(opcode_));
  }
  if (control && (!final_ || left_ > kControlMax)) return fail("a control frame is too long");
  if (!control && (opcode_ == kContinuation) != in_message_) {
    return fail("the frames of two messages are mixed");
  }
  if (!control && opcode_ != kContinuation) message_bytes_ = 0;
  in_payload_ = true;
  return Event::more;
}

WsReader::Event WsReader::end_frame() {
  in_payload_ = false;
  switch (opcode_) {
    case kClose:
      return Event::close;
    case kPing:
      return Event::ping;
    case kPong:
      return Event::more;
    default:
      in_message_ = !final_;
      return final_ ? Event::message : Event::more;
  }
}

}  // namespace sluice::loadgen
