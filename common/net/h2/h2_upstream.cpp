#include "common/net/h2/h2_upstream.h"

#include "common/base/check.h"
#include "common/net/h2/h2_fields.h"
#include "common/net/h2/h2_session.h"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <array>

namespace sluice::net {
namespace asio = boost::asio;

namespace {

constexpr std::size_t kUnsettledMax = 100;  // of one whose peer has not said what it allows
constexpr std::chrono::seconds kIdleSweep{45};

constexpr std::string_view kSpeaksH1 =
    "HTTP/2 request for a service that does not speak HTTP/2; call it over HTTP/1.1, or "
    "let it serve h2c and name its port h2c\n";
constexpr std::string_view kNoH2 =
    "HTTP/2 request for a service that offers no HTTP/2 over TLS; call it over HTTP/1.1\n";

// Some servers that speak only HTTP/1 also close without a byte: as long as none has arrived, both
// causes are named.
constexpr std::string_view kSilent =
    "the service closed the connection before it sent anything: it exited, or does not speak "
    "HTTP/2 "
    "(then call it over HTTP/1.1, or let it serve h2c and name its port h2c)\n";

constexpr std::string_view kNoRoom = "the service allows no more streams\n";

}  // namespace

// What nghttp2 calls, one function per event. None of them may throw.
struct H2Upstream::Callbacks {
  static H2Upstream& self(void* data) { return *static_cast<H2Upstream*>(data); }

  static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* data) {
    H2Upstream& upstream = self(data);
    upstream.head_bytes_ = 0;
    H2UpstreamUser* user = upstream.user_of(frame->hd.stream_id);
    if (user == nullptr) return 0;
    // The first block, and each after a 1xx, is a head; one behind a final head holds trailers.
    upstream.reading_trailers_ = user->response_head().status >= 200;
    if (!upstream.reading_trailers_) user->response_head().clear();
    return 0;
  }

  static int header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t, void* data) {
    H2Upstream& upstream = self(data);
    H2UpstreamUser* user = upstream.user_of(frame->hd.stream_id);
    if (user == nullptr) return 0;
    upstream.head_bytes_ += name_size + value_size + 32;
    if (upstream.head_bytes_ > upstream.head_bytes_max_) {
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    const std::string_view field = text_of(name, name_size);
    const std::string_view content = text_of(value, value_size);
    const http::FieldList& fields = user->response_head().fields;
    if (fields.size() >= upstream.pool_.dialer_.limits().fields_max) {
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    if (field == ":status") {
      int status = 0;
      for (const char digit : content) status = status * 10 + (digit - '0');
      user->response_head().status = status;
    } else if (upstream.reading_trailers_) {
      user->on_upstream_trailer(field, content);
    } else {
      user->response_head().fields.add(field, content);
    }
    return 0;
  }

  static int frame_recv(nghttp2_session* session, const nghttp2_frame* frame, void* data) {
    H2Upstream& upstream = self(data);
    const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    switch (frame->hd.type) {
      case NGHTTP2_SETTINGS:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) upstream.settle();
        return 0;
      case NGHTTP2_GOAWAY:
        upstream.going_away_ = true;
        return 0;
      case NGHTTP2_HEADERS:
      case NGHTTP2_DATA:
        break;
      default:
        return 0;
    }
    H2UpstreamUser* user = upstream.user_of(frame->hd.stream_id);
    if (user == nullptr) return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && !upstream.reading_trailers_) {
      if (user->response_head().status < 200) {
        user->on_upstream_interim();
        return 0;
      }
      user->on_upstream_head(ends);
      // The gateway may have sent the request elsewhere because of it.
      user = upstream.user_of(frame->hd.stream_id);
      if (user == nullptr) return 0;
    }
    if (ends) {
      ++upstream.served_;
      upstream.release(frame->hd.stream_id);
      // What is still being sent of the request has no reader.
      if (nghttp2_session_get_stream_local_close(session, frame->hd.stream_id) == 0) {
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_CANCEL);
      }
      user->on_upstream_end();
    }
    return 0;
  }

  static int data_chunk(nghttp2_session* session, std::uint8_t, std::int32_t stream,
                        const std::uint8_t* bytes, std::size_t size, void* data) {
    H2Upstream& upstream = self(data);
    nghttp2_session_consume_connection(session, size);
    H2UpstreamUser* user = upstream.user_of(stream);
    if (user != nullptr) user->on_upstream_data(text_of(bytes, size));
    return 0;
  }

  static int frame_send(nghttp2_session*, const nghttp2_frame* frame, void* data) {
    H2Upstream& upstream = self(data);
    if (frame->hd.type == NGHTTP2_HEADERS) {
      upstream.last_sent_ = std::max(upstream.last_sent_, frame->hd.stream_id);
    }
    return 0;
  }

  static int stream_close(nghttp2_session*, std::int32_t stream, std::uint32_t code, void* data) {
    self(data).closed(stream, code);
    return 0;
  }

  // A head that could not be sent has opened no stream that could close.
  static int frame_not_send(nghttp2_session*, const nghttp2_frame* frame, int, void* data) {
    if (frame->hd.type == NGHTTP2_HEADERS) {
      self(data).closed(frame->hd.stream_id, NGHTTP2_REFUSED_STREAM);
    }
    return 0;
  }

  static ssize_t read_body(nghttp2_session* session, std::int32_t stream, std::uint8_t* to,
                           std::size_t room, std::uint32_t* flags, nghttp2_data_source*,
                           void* data) {
    H2UpstreamUser* user = self(data).user_of(stream);
    if (user == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const H2UpstreamUser::Body body = user->read_request_body(reinterpret_cast<char*>(to), room);
    if (body.ended) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (const http::HeaderBlock& trailers = user->request_trailers(); !trailers.empty()) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        H2Fields fields{trailers, H2Fields::Texts::copied};
        nghttp2_submit_trailer(session, stream, fields.data(), fields.size());
      }
    } else if (body.size == 0) {
      return NGHTTP2_ERR_DEFERRED;
    }
    return static_cast<ssize_t>(body.size);
  }

  static nghttp2_session* make(H2Upstream& upstream) {
    const std::array<nghttp2_settings_entry, 2> settings{
        nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kFirstWindow}};
    return make_h2_session({false, &upstream, upstream.head_bytes_max_, settings},
                           callbacks_of<Callbacks>(), upstream.session_memory());
  }
};

H2Upstream::H2Upstream(H2Upstreams& pool, asio::io_context& io, std::size_t head_bytes_max)
    : H2Link{io, Stream{Socket{io}}}, pool_{pool}, head_bytes_max_{head_bytes_max} {
  adopt(Callbacks::make(*this));
}

void H2Upstream::dial() {
  UpstreamPool& dialer = pool_.dialer_;
  dialling_ =
      dialer.dial(*this, dialer.tls_.h2, [this](Upstream* made, const ConnectFailure& failure) {
        dialling_ = 0;
        if (made == nullptr) {
          give_up(failure);
          return;
        }
        Stream dialled = std::move(made->stream);
        pool_.dialer_.discard(*made);
        if (dialled.encrypted() && dialled.tls()->protocol() != "h2") {
          give_up({Error::upstream_connect, std::string{kNoH2}, true});
          return;
        }
        stream() = std::move(dialled);
        start_io({});
      });
}

void H2Upstream::give_up(const ConnectFailure& failure) {
  going_away_ = true;
  fail_all({failure, true, false});
  close_link();
}

bool H2Upstream::has_room() const {
  if (going_away_ || link_closed()) return false;
  const std::size_t allowed = settled_ ? allowed_ : std::min(kUnsettledMax, pool_.allowed_);
  return streams_.size() < allowed && nghttp2_session_check_request_allowed(session()) != 0;
}

// Streams that a limit keeps back would wait for others to end: they go to another connection.
void H2Upstream::settle() {
  settled_ = true;
  allowed_ = std::min<std::size_t>(
      kStreamsMax,
      nghttp2_session_get_remote_settings(session(), NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS));
  pool_.allowed_ = allowed_;
  pool_.settled_ = true;
  for (std::size_t at = streams_.size(); at > std::max<std::size_t>(allowed_, 1); --at) {
    const auto [stream, user] = streams_[at - 1];
    if (user == nullptr || stream <= last_sent_) continue;
    forget(stream);
    user->on_upstream_failed({{Error::upstream_reset, std::string{kNoRoom}}, true, false});
  }
}

std::int32_t H2Upstream::submit(H2UpstreamUser& user, const http::HeaderBlock& head,
                                bool has_body) {
  H2Fields fields{head, H2Fields::Texts::lent};
  nghttp2_data_provider provider{};
  provider.read_callback = &Callbacks::read_body;
  const std::int32_t stream = nghttp2_submit_request(
      session(), nullptr, fields.data(), fields.size(), has_body ? &provider : nullptr, &user);
  CHECK(stream > 0);
  idle_once_ = false;
  streams_.push_back({stream, &user});
  flush_soon();
  return stream;
}

H2UpstreamUser* H2Upstream::user_of(std::int32_t stream) const {
  return static_cast<H2UpstreamUser*>(nghttp2_session_get_stream_user_data(session(), stream));
}

void H2Upstream::resume(std::int32_t stream) {
  nghttp2_session_resume_data(session(), stream);
  flush_soon();
}

void H2Upstream::grow_window(std::int32_t stream, std::size_t size) {
  nghttp2_session_set_local_window_size(session(), NGHTTP2_FLAG_NONE, stream,
                                        static_cast<std::int32_t>(size));
  flush_soon();
}

void H2Upstream::consumed(std::int32_t stream, std::size_t bytes) {
  nghttp2_session_consume_stream(session(), stream, bytes);
  flush_soon();
}

void H2Upstream::forget(std::int32_t stream) {
  release(stream);
  nghttp2_submit_rst_stream(session(), NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
  flush_soon();
}

void H2Upstream::release(std::int32_t stream) {
  const auto found = std::ranges::lower_bound(streams_, stream, {}, &Open::stream);
  if (found == streams_.end() || found->stream != stream) return;
  found->user = nullptr;
  nghttp2_session_set_stream_user_data(session(), stream, nullptr);
}

void H2Upstream::closed(std::int32_t stream, std::uint32_t code) {
  const auto found = std::ranges::lower_bound(streams_, stream, {}, &Open::stream);
  if (found == streams_.end() || found->stream != stream) return;
  H2UpstreamUser* user = found->user;
  streams_.erase(found);
  if (user != nullptr) {
    H2Failure failure;
    failure.unprocessed = code == NGHTTP2_REFUSED_STREAM || stream > last_sent_;
    failure.reused = served_ > 0;
    failure.cause = {Error::upstream_reset, "the service reset the stream: " +
                                                std::string{nghttp2_http2_strerror(code)} + "\n"};
    user->on_upstream_failed(failure);
  }
  retire_if_spent();
}

// What the end of the connection means to a request without a response.
ConnectFailure H2Upstream::lost() const {
  // HTTP/2 begins with a small SETTINGS frame: with a zero, the highest octet of its length.
  const std::string_view heard = first_bytes();
  if (!settled_ && !heard.empty() && heard.front() != '\0') {
    return {Error::upstream_invalid, std::string{kSpeaksH1}};
  }
  if (pool_.settled_ || !heard.empty()) return {Error::upstream_reset, "EOF\n"};
  return {Error::upstream_reset, std::string{kSilent}};
}

void H2Upstream::fail_all(const H2Failure& failure) {
  const std::vector<Open> streams = std::move(streams_);
  streams_.clear();
  for (const Open& open : streams) {
    if (open.user == nullptr) continue;
    nghttp2_session_set_stream_user_data(session(), open.stream, nullptr);
    H2Failure told = failure;
    told.unprocessed = told.unprocessed || open.stream > last_sent_;
    open.user->on_upstream_failed(told);
  }
}

void H2Upstream::on_link_end() {
  going_away_ = true;
  fail_all({lost(), false, served_ > 0});
}

void H2Upstream::on_link_released() {
  pool_.retire(*this);
}

// A connection that takes no new streams closes behind its last one.
void H2Upstream::retire_if_spent() {
  if (!streams_.empty() || link_closed()) return;
  if (pool_.closed_) {
    nghttp2_session_terminate_session(session(), NGHTTP2_NO_ERROR);
    flush_soon();
  } else {
    pool_.arm_sweep();
  }
}

H2Upstreams::H2Upstreams(asio::io_context& io, UpstreamPool& dialer)
    : io_{io}, dialer_{dialer}, sweep_timer_{io} {}

H2Upstreams::~H2Upstreams() {
  alive_.end();
}

H2Upstream& H2Upstreams::with_room() {
  for (const auto& connection : connections_) {
    if (connection->has_room()) return *connection;
  }
  connections_.push_back(std::make_unique<H2Upstream>(*this, io_, dialer_.limits().head_bytes_max));
  H2Upstream& made = *connections_.back();
  made.place_ = std::prev(connections_.end());
  made.dial();
  return made;
}

void H2Upstreams::close() {
  closed_ = true;
  for (auto next = connections_.begin(); next != connections_.end();) {
    H2Upstream& connection = **next++;
    if (!connection.streams_.empty()) continue;
    if (connection.dialling_ != 0) dialer_.cancel_connect(connection.dialling_);
    connection.close_link();
  }
}

// A connection retires from inside its own calls, so it is freed on the next turn of the loop.
void H2Upstreams::retire(H2Upstream& connection) {
  retired_.splice(retired_.end(), connections_, connection.place_);
  asio::post(io_, [this, alive = alive_.watch()] {
    if (!alive.over()) retired_.clear();
  });
}

// A connection that two sweeps in a row find idle is closed: between 45 and 90 seconds of idleness.
void H2Upstreams::arm_sweep() {
  if (sweeping_ || closed_) return;
  sweeping_ = true;
  sweep_timer_.expires_after(kIdleSweep);
  sweep_timer_.async_wait([this, alive = alive_.watch()](const boost::system::error_code& ec) {
    if (alive.over()) return;
    sweeping_ = false;
    if (!ec) sweep();
  });
}

void H2Upstreams::sweep() {
  bool idle = false;
  for (auto next = connections_.begin(); next != connections_.end();) {
    H2Upstream& connection = **next++;
    if (!connection.streams_.empty() || connection.dialling_ != 0) continue;
    if (connection.idle_once_) {
      connection.close_link();
    } else {
      connection.idle_once_ = true;
      connection.trim_link();
      idle = true;
    }
  }
  if (idle) arm_sweep();
}

}  // namespace sluice::net
