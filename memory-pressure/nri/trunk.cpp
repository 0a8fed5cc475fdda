#include "memory-pressure/nri/trunk.h"

#include "common/base/check.h"

namespace sluice::nri {
namespace {

// A frame: connection, length. A message: length, stream, kind, flags. Numbers begin with their
// highest byte.
constexpr std::size_t kNumberBytes = 4;
constexpr std::size_t kFrameHeaderBytes = 2 * kNumberBytes;
constexpr std::size_t kKindAt = 2 * kNumberBytes;
constexpr std::size_t kMessageHeaderBytes = kKindAt + 2;
constexpr std::size_t kFrameBytesMax = kMessageHeaderBytes + kMessageBytesMax;
constexpr unsigned kByteBits = 8;
constexpr std::uint32_t kByteMask = 0xff;

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (const char each : bytes.substr(at, kNumberBytes)) {
    number = (number << kByteBits) | std::uint32_t{static_cast<unsigned char>(each)};
  }
  return number;
}

void append_number(std::string& bytes, std::size_t number) {
  for (std::size_t left = kNumberBytes; left > 0; --left) {
    bytes += static_cast<char>((number >> ((left - 1) * kByteBits)) & kByteMask);
  }
}

bool is_known(char kind) {
  return kind == static_cast<char>(MessageKind::request) ||
         kind == static_cast<char>(MessageKind::response);
}

}  // namespace

Result<std::vector<Message>> TrunkReader::feed(std::string_view bytes) {
  std::vector<Message> whole;
  while (!bytes.empty()) {
    const std::size_t wanted = left_ > 0 ? left_ : kFrameHeaderBytes - header_.size();
    const std::string_view piece = bytes.substr(0, wanted);
    bytes.remove_prefix(piece.size());
    if (left_ > 0) {
      left_ -= piece.size();
      if (!take(piece, whole)) return Error::too_large;
    } else {
      header_ += piece;
      if (header_.size() == kFrameHeaderBytes && !begin_frame()) return Error::too_large;
    }
  }
  return whole;
}

bool TrunkReader::begin_frame() {
  connection_ = number_at(header_, 0);
  left_ = number_at(header_, kNumberBytes);
  header_.clear();
  return left_ <= kFrameBytesMax;
}

bool TrunkReader::take(std::string_view piece, std::vector<Message>& whole) {
  if (connection_ == 0 || connection_ > kConnections) return true;
  std::string& partial = partial_.at(connection_ - 1);
  partial += piece;
  std::string_view rest = partial;
  while (rest.size() >= kMessageHeaderBytes) {
    const std::size_t size = number_at(rest, 0);
    if (size > kMessageBytesMax) return false;
    if (rest.size() < kMessageHeaderBytes + size) break;
    if (const char kind = rest[kKindAt]; is_known(kind)) {
      whole.push_back({.connection = connection_,
                       .stream = number_at(rest, kNumberBytes),
                       .kind = static_cast<MessageKind>(kind),
                       .bytes = std::string{rest.substr(kMessageHeaderBytes, size)}});
    }
    rest.remove_prefix(kMessageHeaderBytes + size);
  }
  // Into a new string: the list of all containers, which comes once, would keep its memory.
  if (rest.size() < partial.size()) partial = std::string{rest};
  return true;
}

std::string to_trunk(const Message& message) {
  CHECK(message.bytes.size() <= kOwnMessageBytesMax);
  std::string bytes;
  append_number(bytes, message.connection);
  append_number(bytes, kMessageHeaderBytes + message.bytes.size());
  append_number(bytes, message.bytes.size());
  append_number(bytes, message.stream);
  bytes += static_cast<char>(message.kind);
  bytes += '\0';  // flags: one request, one response
  return bytes + message.bytes;
}

}  // namespace sluice::nri
