// Frames of a client for streams that have ended. nghttp2 keeps none of those and ignores such
// frames, DATA without a callback; a certain error of the client is detected here (RFC 9113, 5.1).

#include "common/net/h2/h2_connection.h"

#include <nghttp2/nghttp2.h>

namespace sluice::net {

// `bytes` are cut before a DATA frame when what stands before it may open or end a stream: only
// when the session has read that is it known what the frame meets.
std::size_t H2Connection::portion(std::string_view bytes) {
  std::size_t at = 0;
  bool streams_change = false;
  while (true) {
    at += walk_.skip(bytes.substr(at));
    if (at == bytes.size()) return at;
    H2FrameWalk ahead = walk_;
    const std::size_t read = ahead.read_header(bytes.substr(at));
    if (ahead.whole()) {
      const H2FrameWalk::Header header = ahead.header();
      const bool data = header.type == NGHTTP2_DATA;
      if (data && streams_change) return at;
      if (data && is_past(header.stream, false)) pay_for_frame();
      streams_change = streams_change || header.type == NGHTTP2_HEADERS ||
                       header.type == NGHTTP2_RST_STREAM ||
                       (header.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    }
    walk_ = ahead;
    at += read;
  }
}

bool H2Connection::is_past(std::int32_t id, bool head) {
  if (id % 2 == 0 || nghttp2_session_get_stream_remote_close(session(), id) >= 0) return false;
  const auto verdict = past_.look(id);
  if (head) past_.opened(id);
  switch (verdict) {
    case H2PastStreams::Verdict::unknown:
      return false;
    case H2PastStreams::Verdict::behind_reset:
      reset(id, H2Error::stream_closed);
      break;
    case H2PastStreams::Verdict::behind_end:
      nghttp2_session_terminate_session(session(), NGHTTP2_STREAM_CLOSED);
      break;
    case H2PastStreams::Verdict::never_opened:
      nghttp2_session_terminate_session(session(), NGHTTP2_PROTOCOL_ERROR);
      break;
  }
  return true;
}

}  // namespace sluice::net
