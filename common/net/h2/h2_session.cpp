#include "common/net/h2/h2_session.h"

#include "common/base/check.h"

#include <cstring>

namespace sluice::net {
namespace {

constexpr std::int32_t kConnectionWindow = 1 << 20;
constexpr std::size_t kFrameBytes = 16 * 1024;
constexpr std::size_t kContinuationsAlways = 8;
constexpr std::size_t kHeadRoom = 64 * 1024;

nghttp2_mem allocator_from(H2Memory& memory) {
  return {&memory,
          [](std::size_t size, void* user) { return static_cast<H2Memory*>(user)->take(size); },
          [](void* taken, void* user) { static_cast<H2Memory*>(user)->give(taken); },
          [](std::size_t count, std::size_t size, void* user) {
            void* const taken = static_cast<H2Memory*>(user)->take(count * size);
            if (taken != nullptr) std::memset(taken, 0, count * size);
            return taken;
          },
          [](void* taken, std::size_t size, void* user) {
            return static_cast<H2Memory*>(user)->resize(taken, size);
          }};
}

nghttp2_option* options_for(std::size_t head_bytes_max) {
  nghttp2_option* options = nullptr;
  CHECK(nghttp2_option_new(&options) == 0);
  nghttp2_option_set_no_auto_window_update(options, 1);
  nghttp2_option_set_no_closed_streams(options, 1);
  // What we send is what we read and what our rules add to it; the rules can double a field.
  nghttp2_option_set_max_send_header_block_length(options, 2 * head_bytes_max + kHeadRoom);
  // Twice the limit can arrive, so that the peer gets an error for the limit instead of a closed
  // connection.
  nghttp2_option_set_max_continuations(options,
                                       2 * head_bytes_max / kFrameBytes + kContinuationsAlways);
  return options;
}

}  // namespace

H2Callbacks no_callbacks() {
  nghttp2_session_callbacks* made = nullptr;
  CHECK(nghttp2_session_callbacks_new(&made) == 0);
  return H2Callbacks{made};
}

nghttp2_session* make_h2_session(const H2SessionPlan& plan, const H2Callbacks& callbacks,
                                 H2Memory& memory) {
  const auto make = plan.server ? nghttp2_session_server_new3 : nghttp2_session_client_new3;
  nghttp2_option* const options = options_for(plan.head_bytes_max);
  nghttp2_mem allocator = allocator_from(memory);
  nghttp2_session* session = nullptr;
  CHECK(make(&session, callbacks.get(), plan.user, options, &allocator) == 0);
  nghttp2_option_del(options);
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, plan.settings.data(), plan.settings.size());
  nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
  return session;
}

}  // namespace sluice::net
