#pragma once

#include "common/base/result.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The two outer layers of NRI's wire (memory-pressure.md 6): one Unix socket carries two numbered
// connections, cut into frames, and each of them messages of ttrpc, cut into frames or not as it
// comes. No I/O.
namespace sluice::nri {

/// The connection in which the runtime calls its plugin.
inline constexpr std::uint32_t kPluginService = 1;

/// The one in which the plugin calls the runtime.
inline constexpr std::uint32_t kRuntimeService = 2;

/// Most bytes of a message of ttrpc without its header.
inline constexpr std::size_t kMessageBytesMax = std::size_t{4} << 20U;

/// Most bytes of a message that to_trunk() takes: with both headers the runtime reads them at once,
/// and it does not take a frame in parts.
inline constexpr std::size_t kOwnMessageBytesMax = 4000;

enum class MessageKind : std::uint8_t { request = 1, response = 2 };

/// A message of ttrpc. A response has the stream of its request.
struct Message {
  std::uint32_t connection = 0;
  std::uint32_t stream = 0;
  MessageKind kind = MessageKind::request;
  std::string bytes;

  friend bool operator==(const Message&, const Message&) = default;
};

/// Puts messages together out of the bytes of a trunk, whatever pieces these come in. Holds at most
/// one message of each connection that is not whole.
class TrunkReader {
 public:
  /// The messages that are whole with `bytes`. What belongs to another connection, or is a message
  /// of another kind, is skipped. too_large: a frame or a message above the bounds; the trunk
  /// cannot be read any further.
  [[nodiscard]] Result<std::vector<Message>> feed(std::string_view bytes);

 private:
  static constexpr std::size_t kConnections = 2;

  [[nodiscard]] bool begin_frame();
  [[nodiscard]] bool take(std::string_view piece, std::vector<Message>& whole);

  std::string header_;            // of a frame, as far as it is there
  std::uint32_t connection_ = 0;  // of the frame that is read
  std::size_t left_ = 0;          // of its bytes
  std::array<std::string, kConnections> partial_;
};

/// `message` in a frame of its own. At most kOwnMessageBytesMax bytes, or it aborts.
[[nodiscard]] std::string to_trunk(const Message& message);

}  // namespace sluice::nri
