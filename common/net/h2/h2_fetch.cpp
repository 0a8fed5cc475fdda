#include "common/net/h2/h2_fetch.h"

#include "common/net/socket.h"
#include "common/values/whole_number.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <nghttp2/nghttp2.h>
#include <optional>
#include <utility>

namespace sluice::net {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t kFieldBytesMax = 64 * 1024;
constexpr std::size_t kFieldCost = 32;  // of one field besides its text, as HPACK counts it
constexpr std::size_t kReadBytes = 16 * 1024;

struct FreeSession {
  void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
};

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  });
  return text;
}

// nghttp2 copies both before it returns from the submission, and writes to neither.
nghttp2_nv field_of(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

// The library's callbacks only note what came: the outcome is reported once it has returned, since
// the report may destroy everything.
struct H2Fetch::Run {
  Run(asio::io_context& io, H2FetchRequest asked, Done on_done)
      : socket{io}, timer{io}, request{std::move(asked)}, done{std::move(on_done)} {}

  static void start(const std::shared_ptr<Run>& self) {
    self->timer.expires_after(self->request.timeout);
    self->timer.async_wait([self](const error_code& ec) {
      if (!ec) self->finish(Error::deadline_exceeded);
    });
    self->socket.async_connect(endpoint_of(self->request.target), [self](const error_code& ec) {
      if (self->finished) return;
      if (ec) {
        self->finish(Error::upstream_connect);
      } else if (!self->open()) {
        self->finish(Error::bad_request);
      } else {
        send(self);
        receive(self);
      }
    });
  }

  // Whether the session exists and has taken the request.
  bool open() {
    nghttp2_session_callbacks* callbacks = nullptr;
    if (nghttp2_session_callbacks_new(&callbacks) != 0) return false;
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session* made = nullptr;
    const int result = nghttp2_session_client_new(&made, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    session.reset(made);
    return result == 0 && submit();
  }

  bool submit() {
    const nghttp2_settings_entry no_push{NGHTTP2_SETTINGS_ENABLE_PUSH, 0};
    if (nghttp2_submit_settings(session.get(), NGHTTP2_FLAG_NONE, &no_push, 1) != 0) return false;
    for (auto& [name, value] : request.fields) name = lower_case(std::move(name));
    std::vector<nghttp2_nv> fields{field_of(":method", request.method), field_of(":scheme", "http"),
                                   field_of(":authority", request.authority),
                                   field_of(":path", request.path)};
    for (const auto& [name, value] : request.fields) fields.push_back(field_of(name, value));
    nghttp2_data_provider body{};
    body.source.ptr = this;
    body.read_callback = read_body;
    stream_id = nghttp2_submit_request(session.get(), nullptr, fields.data(), fields.size(),
                                       request.body.empty() ? nullptr : &body, nullptr);
    return stream_id > 0;
  }

  static void send(const std::shared_ptr<Run>& self) {
    if (self->finished || self->sending) return;
    self->out.clear();
    const std::uint8_t* bytes = nullptr;
    while (const auto size = nghttp2_session_mem_send(self->session.get(), &bytes)) {
      if (size < 0) {
        self->finish(Error::upstream_invalid);
        return;
      }
      self->out.append(text_of(bytes, static_cast<std::size_t>(size)));
    }
    if (self->out.empty()) return;
    self->sending = true;
    asio::async_write(self->socket, asio::buffer(self->out),
                      [self](const error_code& ec, std::size_t /*bytes*/) {
                        self->sending = false;
                        // What the peer said before it closed may still be read.
                        if (!ec) send(self);
                      });
  }

  static void receive(const std::shared_ptr<Run>& self) {
    self->socket.async_read_some(asio::buffer(self->in),
                                 [self](const error_code& ec, std::size_t bytes) {
                                   if (self->finished) return;
                                   if (!self->take(ec ? 0 : bytes, static_cast<bool>(ec))) return;
                                   send(self);
                                   if (!self->finished) receive(self);
                                 });
  }

  // Returns whether more must be read.
  bool take(std::size_t bytes, bool ended) {
    const auto used = nghttp2_session_mem_recv(session.get(), in.data(), bytes);
    // The callbacks stop the session once they know enough.
    if (head_done && request.head_only) report({});
    if (finished) return false;
    if (closed || error) {
      finish(error);
    } else if (ended) {
      finish(Error::upstream_reset);
    } else if (used < 0 || nghttp2_session_want_read(session.get()) == 0) {
      finish(Error::upstream_invalid);
    }
    return !finished;
  }

  void finish(std::optional<Error> problem) {
    if (finished) return;
    finished = true;
    error_code ignored;
    socket.close(ignored);
    timer.cancel();
    report(problem);
  }

  // Reports the outcome once; may destroy the fetch.
  void report(std::optional<Error> problem) {
    const Done call = std::exchange(done, {});
    if (!call) return;
    if (problem) {
      call(*problem);
    } else {
      call(std::move(response));
    }
  }

  static Run& of(void* user) { return *static_cast<Run*>(user); }

  int fail(Error problem) {
    if (!error) error = problem;
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  static int on_header(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                       const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                       std::size_t value_size, std::uint8_t /*flags*/, void* user) {
    Run& run = of(user);
    if (frame->hd.stream_id != run.stream_id) return 0;
    run.field_bytes += name_size + value_size + kFieldCost;
    if (run.field_bytes > kFieldBytesMax) return run.fail(Error::too_large);
    const std::string_view key = text_of(name, name_size);
    const std::string_view text = text_of(value, value_size);
    if (run.head_done) {
      run.response.trailers.add(key, text);
    } else if (key == ":status") {
      // Again for each interim response and for the final one.
      run.response.fields.clear();
      run.response.status = whole_number<int>(text).value_or(0);
    } else {
      run.response.fields.add(key, text);
    }
    return 0;
  }

  static int on_frame(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* user) {
    Run& run = of(user);
    if (frame->hd.type != NGHTTP2_HEADERS || frame->hd.stream_id != run.stream_id) return 0;
    run.head_done = run.response.status >= 200;
    return 0;
  }

  static int on_data(nghttp2_session* /*session*/, std::uint8_t /*flags*/, std::int32_t stream,
                     const std::uint8_t* bytes, std::size_t size, void* user) {
    Run& run = of(user);
    if (stream != run.stream_id) return 0;
    run.body_bytes += size;
    if (run.body_bytes > run.request.body_max) return run.fail(Error::too_large);
    if (!run.request.head_only) run.response.body.append(text_of(bytes, size));
    return 0;
  }

  static int on_stream_close(nghttp2_session* /*session*/, std::int32_t stream, std::uint32_t code,
                             void* user) {
    Run& run = of(user);
    if (stream != run.stream_id) return 0;
    run.closed = true;
    if (code != NGHTTP2_NO_ERROR || !run.head_done) run.fail(Error::upstream_reset);
    return 0;
  }

  static ssize_t read_body(nghttp2_session* /*session*/, std::int32_t /*stream*/, std::uint8_t* to,
                           std::size_t size, std::uint32_t* flags, nghttp2_data_source* source,
                           void* /*user*/) {
    Run& run = of(source->ptr);
    const std::string_view rest = std::string_view{run.request.body}.substr(run.body_sent);
    const std::size_t part = std::min(size, rest.size());
    std::memcpy(to, rest.data(), part);
    run.body_sent += part;
    if (part == rest.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(part);
  }

  Socket socket;
  asio::steady_timer timer;
  H2FetchRequest request;
  Done done;
  std::unique_ptr<nghttp2_session, FreeSession> session;
  H2FetchResponse response;
  std::array<std::uint8_t, kReadBytes> in{};
  std::string out;
  std::optional<Error> error;
  std::int32_t stream_id = -1;
  std::size_t body_sent = 0;
  std::size_t body_bytes = 0;
  std::size_t field_bytes = 0;
  bool sending = false;
  bool head_done = false;
  bool closed = false;
  bool finished = false;
};

H2Fetch::H2Fetch(asio::io_context& io, H2FetchRequest request, Done done)
    : run_{std::make_shared<Run>(io, std::move(request), std::move(done))} {
  Run::start(run_);
}

H2Fetch::~H2Fetch() {
  run_->done = {};
  run_->finish(Error::client_gone);
}

}  // namespace sluice::net
