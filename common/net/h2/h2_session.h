#pragma once

#include "common/net/h2/h2_memory.h"

#include <cstddef>
#include <memory>
#include <nghttp2/nghttp2.h>
#include <span>

namespace sluice::net {

struct FreeH2Callbacks {
  void operator()(nghttp2_session_callbacks* callbacks) const {
    nghttp2_session_callbacks_del(callbacks);
  }
};

using H2Callbacks = std::unique_ptr<nghttp2_session_callbacks, FreeH2Callbacks>;

/// A set without any callback.
[[nodiscard]] H2Callbacks no_callbacks();

/// The events that both sides of a proxy handle, as static functions of `Events`.
template <class Events>
[[nodiscard]] H2Callbacks callbacks_of() {
  H2Callbacks made = no_callbacks();
  nghttp2_session_callbacks* const to = made.get();
  nghttp2_session_callbacks_set_on_begin_headers_callback(to, Events::begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(to, Events::header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(to, Events::frame_recv);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(to, Events::data_chunk);
  nghttp2_session_callbacks_set_on_frame_send_callback(to, Events::frame_send);
  nghttp2_session_callbacks_set_on_frame_not_send_callback(to, Events::frame_not_send);
  nghttp2_session_callbacks_set_on_stream_close_callback(to, Events::stream_close);
  return made;
}

/// One side of a connection of a proxy.
struct H2SessionPlan {
  bool server = false;
  void* user = nullptr;            ///< what the callbacks get
  std::size_t head_bytes_max = 0;  ///< passes in both directions, counted as RFC 9113, 6.5.2
  std::span<const nghttp2_settings_entry> settings;
};

/// A session whose windows are opened by hand and whose closed streams cost nothing. Its memory
/// comes from `memory`, which outlives it. The caller deletes it.
[[nodiscard]] nghttp2_session* make_h2_session(const H2SessionPlan& plan,
                                               const H2Callbacks& callbacks, H2Memory& memory);

}  // namespace sluice::net
