#pragma once

#include "common/http/chunk_reader.h"
#include "common/http/fed.h"
#include "common/http/head_check.h"
#include "common/http/message.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::http {

/// Finds the end of one message's body, however it is framed.
class BodyReader {
 public:
  void begin(Framing framing, std::uint64_t length);

  /// Forgets the message; nothing is done until the next begin.
  void reset();

  Fed feed(std::string_view bytes, std::string* decoded);
  Fed relay(std::string_view bytes);

  /// The connection ended: whether that is a proper end of the message.
  [[nodiscard]] bool finish_at_close();

  [[nodiscard]] bool done() const { return done_; }

  [[nodiscard]] std::uint64_t content_bytes() const {
    return framing_ == Framing::chunked ? chunks_.content_bytes() : content_bytes_;
  }

 private:
  Framing framing_ = Framing::none;
  std::uint64_t left_ = 0;
  std::uint64_t content_bytes_ = 0;
  ChunkReader chunks_;
  bool begun_ = false;
  bool done_ = false;
};

/// Parses the requests of one connection, one after the other; bytes in, events out, no I/O.
class RequestParser {
 public:
  explicit RequestParser(std::size_t head_bytes_max, std::size_t fields_max = 1000);

  /// Forgets the message before and waits for the next head.
  void reset();

  /// Reads a head into `head`; what is not used must come again, with more. Strict: see HeadCheck,
  /// framing_of and host_problem. A few empty lines before the head are passed over.
  Fed feed_head(std::string_view bytes, RequestHead& head);

  /// Reads on in the body; `decoded`, when given, receives the content without framing.
  Fed feed_body(std::string_view bytes, std::string* decoded) { return body_.feed(bytes, decoded); }

  /// Reads on in a body that is passed on with its framing: `used` bytes are relayed unchanged,
  /// `dropped` ones are not (ChunkReader::relay).
  Fed relay_body(std::string_view bytes) { return body_.relay(bytes); }

  /// Whether the whole message has been read.
  [[nodiscard]] bool done() const { return body_.done(); }

  /// Bytes of the body read so far, without framing.
  [[nodiscard]] std::uint64_t content_bytes() const { return body_.content_bytes(); }

 private:
  HeadLimits limits_;
  HeadCheck check_;
  BodyReader body_;
  int empty_lines_ = 0;
};

/// The same for the responses of an upstream connection.
class ResponseParser {
 public:
  explicit ResponseParser(std::size_t head_bytes_max, std::size_t fields_max = 1000);

  /// `to_head`: the request was HEAD, so no body follows whatever its header fields are.
  void reset(bool to_head);
  Fed feed_head(std::string_view bytes, ResponseHead& head);

  Fed feed_body(std::string_view bytes, std::string* decoded) { return body_.feed(bytes, decoded); }

  Fed relay_body(std::string_view bytes) { return body_.relay(bytes); }

  /// The connection ended: true when that is a proper end of the message.
  [[nodiscard]] bool finish_at_close() { return body_.finish_at_close(); }

  [[nodiscard]] bool done() const { return body_.done(); }

  [[nodiscard]] std::uint64_t content_bytes() const { return body_.content_bytes(); }

 private:
  HeadLimits limits_;
  HeadCheck check_;
  BodyReader body_;
  bool to_head_ = false;
};

}  // namespace sluice::http
