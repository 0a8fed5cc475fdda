#pragma once

#include "common/http/message.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::http {

/// What a parser made of the bytes it was given.
struct Fed {
  enum class State : std::uint8_t {
    need_more,  ///< valid so far; give the unused bytes again together with new ones
    done,       ///< the head, or for a body the whole message, is complete
    bad,        ///< not HTTP/1, or framed so that two readers could disagree
    too_large,  ///< the header block is beyond its limit
  };

  State state = State::need_more;
  std::size_t used = 0;  ///< bytes that need not be given again
};

/// Parses the requests of one connection, one after the other; bytes in, events out, no I/O.
class RequestParser {
 public:
  explicit RequestParser(std::size_t head_bytes_max);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  /// Forgets the message before and waits for the next head.
  void reset();

  /// Reads a head into `head`. A request with both Content-Length and Transfer-Encoding, with any
  /// coding but `chunked`, or without Host in HTTP/1.1 is bad (queue-proxy.md 9).
  Fed feed_head(std::string_view bytes, RequestHead& head);

  /// Reads on in the body. `used` bytes are valid body octets as they came, framing included, and
  /// can be relayed unchanged; `decoded`, when given, receives the content without framing.
  Fed feed_body(std::string_view bytes, std::string* decoded);

  /// Whether the whole message has been read.
  [[nodiscard]] bool done() const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

/// The same for the responses of an upstream connection.
class ResponseParser {
 public:
  explicit ResponseParser(std::size_t head_bytes_max);
  ~ResponseParser();
  ResponseParser(const ResponseParser&) = delete;
  ResponseParser& operator=(const ResponseParser&) = delete;

  /// `to_head`: the request was HEAD, so no body follows whatever the header says.
  void reset(bool to_head);
  Fed feed_head(std::string_view bytes, ResponseHead& head);
  Fed feed_body(std::string_view bytes, std::string* decoded);

  /// The connection ended: true when that is a proper end of the message.
  [[nodiscard]] bool finish_at_close();
  [[nodiscard]] bool done() const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace sluice::http
