#include "common/net/h2/h2_connection.h"

#include "common/base/check.h"
#include "common/http/fed.h"
#include "common/net/h2/h2_fields.h"
#include "common/net/h2/h2_session.h"
#include "common/net/server/proxy_server.h"

#include <algorithm>
#include <array>

namespace sluice::net {

using boost::system::error_code;

namespace {

constexpr std::size_t kSpareMax = 32;
constexpr std::size_t kFieldOverhead = 32;  // RFC 9113, 6.5.2
// Beyond the first window of each stream: at 250 streams a client that reads nothing holds 8 MiB.
constexpr std::size_t kClaimedMax = 4 << 20;
// A continuation of a long head is none of those that carry nothing.
constexpr std::size_t kUsefulContinuation = 4096;
// Between the notice that the connection will end and its end: streams on their way arrive.
constexpr Duration kFarewell = std::chrono::seconds{1};
constexpr int kBudgetRefillSeconds = 10;
// Without a stream for so long, memory for the next ones is given back. A client that asks in waves
// is without one many times a second.
constexpr Duration kIdle = std::chrono::seconds{1};

constexpr std::string_view kSwitching =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";

}  // namespace

// What nghttp2 calls, one function per event. None of them may throw.
struct H2Connection::Callbacks {
  static H2Connection& self(void* data) { return *static_cast<H2Connection*>(data); }

  static int begin_frame(nghttp2_session*, const nghttp2_frame_hd* hd, void* data) {
    const bool empty_data =
        hd->type == NGHTTP2_DATA && hd->length == 0 && (hd->flags & NGHTTP2_FLAG_END_STREAM) == 0;
    const bool useful = hd->type == NGHTTP2_HEADERS || hd->type == NGHTTP2_WINDOW_UPDATE ||
                        (hd->type == NGHTTP2_DATA && !empty_data) ||
                        (hd->type == NGHTTP2_CONTINUATION && hd->length >= kUsefulContinuation);
    H2Connection& connection = self(data);
    const bool past = hd->type == NGHTTP2_HEADERS && connection.is_past(hd->stream_id, true);
    if (!useful || past) connection.pay_for_frame();
    return 0;
  }

  static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* data) {
    H2Connection& connection = self(data);
    connection.head_bytes_ = 0;
    connection.head_began_ = connection.server_.clock_.now();
    connection.head_due_ = connection.head_began_ + connection.server_.limits_.head_timeout;
    connection.head_id_ = frame->hd.stream_id;
    connection.server_.heads_.open(connection, connection.head_began_);
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      connection.arm_timer(connection.head_due_);
      connection.open_stream(frame->hd.stream_id);
    } else if (H2Stream* stream = connection.find(frame->hd.stream_id)) {
      stream->reading_trailers_ = true;
    }
    return 0;
  }

  static int header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t, void* data) {
    H2Connection& connection = self(data);
    H2Stream* stream = connection.find(frame->hd.stream_id);
    if (stream == nullptr) return 0;
    if (stream->crowded_out_) {
      return stream->reading_trailers_ ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : 0;
    }
    connection.head_bytes_ += name_size + value_size + kFieldOverhead;
    const ServerLimits& limits = connection.server_.limits_;
    const std::size_t fields =
        stream->reading_trailers_ ? stream->trailers_in_.size() : stream->head_.fields.size();
    const std::string_view text = text_of(name, name_size);
    if (connection.head_bytes_ > limits.head_bytes_max) {
      stream->too_large_ = http::kHeaderBytesLimit;
    } else if (fields >= limits.fields_max && !text.starts_with(':')) {
      stream->too_large_ = http::kHeaderFieldsLimit;
    }
    if (!stream->too_large_.empty()) {
      // Small names may stand for large values: what expands without end is reset at once.
      const bool endless = connection.head_bytes_ > 4 * limits.head_bytes_max;
      return stream->reading_trailers_ || endless ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : 0;
    }
    add_field(*stream, text, text_of(value, value_size));
    connection.head_grew(*stream);
    return 0;
  }

  static void add_field(H2Stream& stream, std::string_view name, std::string_view value) {
    if (stream.reading_trailers_) {
      stream.trailers_in_.add(name, value);
      stream.trailer_bytes_ += name.size() + value.size() + kFieldOverhead;
    } else if (name == ":method") {
      stream.head_.method.assign(value);
    } else if (name == ":path") {
      stream.head_.target.assign(value);
    } else if (name == ":authority") {
      stream.head_.fields.add("Host", value);
    } else if (!name.starts_with(':')) {
      // Host repeats what the authority said (RFC 9113, 8.3.1); one of them is passed on.
      if (name == "host" && stream.head_.fields.has(http::Known::host)) return;
      stream.head_.fields.add(name, value);
    }
  }

  static int frame_recv(nghttp2_session*, const nghttp2_frame* frame, void* data) {
    H2Connection& connection = self(data);
    const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (frame->hd.type == NGHTTP2_SETTINGS) connection.head_due_ = {};
    if (frame->hd.type == NGHTTP2_RST_STREAM) connection.past_.ended(frame->hd.stream_id, true);
    if (ends && (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)) {
      connection.past_.ended(frame->hd.stream_id, false);
    }
    if (frame->hd.type == NGHTTP2_HEADERS) {
      connection.head_over();
      H2Stream* stream = connection.find(frame->hd.stream_id);
      if (stream == nullptr) return 0;
      if (connection.server_.closing_) connection.drain();
      stream->on_head(ends);
    } else if (frame->hd.type == NGHTTP2_DATA && ends) {
      if (H2Stream* stream = connection.find(frame->hd.stream_id)) stream->on_client_end();
    }
    return 0;
  }

  static int data_chunk(nghttp2_session* session, std::uint8_t, std::int32_t id,
                        const std::uint8_t* bytes, std::size_t size, void* data) {
    // Streams are held back one by one; a waiting one must not hold back its siblings.
    nghttp2_session_consume_connection(session, size);
    if (H2Stream* stream = self(data).find(id)) stream->on_client_data(text_of(bytes, size));
    return 0;
  }

  // The response is out while the request still comes: the rest of it is not needed.
  static int frame_send(nghttp2_session* session, const nghttp2_frame* frame, void* data) {
    if (frame->hd.type == NGHTTP2_RST_STREAM) {
      if (H2Stream* stream = self(data).find(frame->hd.stream_id)) stream->on_broken();
      return 0;
    }
    const bool may_end = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!may_end || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    const H2Stream* stream = self(data).find(frame->hd.stream_id);
    if (stream != nullptr && !stream->client_done_) {
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
    }
    return 0;
  }

  // A stream whose head or trailers cannot be sent would wait without end.
  static int frame_not_send(nghttp2_session*, const nghttp2_frame* frame, int, void* data) {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    if (H2Stream* stream = self(data).find(frame->hd.stream_id)) stream->on_unsendable();
    return 0;
  }

  static int stream_close(nghttp2_session*, std::int32_t id, std::uint32_t, void* data) {
    H2Connection& connection = self(data);
    if (H2Stream* stream = connection.find(id)) connection.close_stream(*stream);
    return 0;
  }

  static ssize_t read_body(nghttp2_session* session, std::int32_t id, std::uint8_t* to,
                           std::size_t room, std::uint32_t* flags, nghttp2_data_source*,
                           void* data) {
    H2Stream* stream = self(data).find(id);
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const H2UpstreamUser::Body body = stream->read_response(reinterpret_cast<char*>(to), room);
    if (body.ended) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (!stream->trailers_out_.empty()) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        H2Fields fields{stream->trailers_out_, H2Fields::Texts::copied};
        nghttp2_submit_trailer(session, id, fields.data(), fields.size());
      }
    } else if (body.size == 0) {
      return NGHTTP2_ERR_DEFERRED;
    }
    return static_cast<ssize_t>(body.size);
  }

  static nghttp2_session* make(H2Connection& connection, const ServerLimits& limits) {
    H2Callbacks callbacks = callbacks_of<Callbacks>();
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks.get(), begin_frame);
    const std::array<nghttp2_settings_entry, 2> settings{
        nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streams_max},
        nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
                               static_cast<std::uint32_t>(limits.head_bytes_max)}};
    return make_h2_session({true, &connection, limits.head_bytes_max, settings}, callbacks,
                           connection.session_memory());
  }
};

H2Connection::H2Connection(ProxyServer& server, Stream stream, std::string_view first)
    : H2Link{server.io_, std::move(stream)},
      server_{server},
      timer_{server.io_},
      first_{first},
      walk_{NGHTTP2_CLIENT_MAGIC_LEN},
      control_budget_{static_cast<double>(server.limits_.control_frames_max)} {
  adopt(Callbacks::make(*this, server.limits_));
  error_code ec;
  const Endpoint peer = this->stream().remote_endpoint(ec);
  if (ec) return;
  peer_ip_ = ip_of(peer);
  peer_local_ = is_local(peer);
}

H2Connection::~H2Connection() {
  give_memory_back();
}

bool H2Connection::upgrade(const std::string& settings, http::RequestHead head,
                           std::string_view body) {
  const bool to_head = head.method == "HEAD";
  if (nghttp2_session_upgrade2(session(), reinterpret_cast<const std::uint8_t*>(settings.data()),
                               settings.size(), to_head ? 1 : 0, nullptr) != 0) {
    return false;
  }
  send_first(kSwitching);
  upgraded_ = std::make_unique<H2Stream>(*this, server_.gateway_.make_state());
  upgraded_->open(1, peer_ip_, peer_local_);
  upgraded_->open_upgraded(std::move(head), body);
  return true;
}

void H2Connection::start() {
  const TimePoint now = server_.clock_.now();
  budget_at_ = now;
  head_began_ = now;
  head_due_ = now + server_.limits_.head_timeout;
  arm_timer(head_due_);
  if (upgraded_) {
    H2Stream& first = *upgraded_;
    past_.opened(1);
    past_.ended(1, false);
    add_stream(std::move(upgraded_));
    first.begin();
  }
  start_io(first_);
  std::string{}.swap(first_);
}

bool H2Connection::close_if_idle() {
  if (!streams_.empty() || lingering() || link_closed()) return false;
  gives_place_ = true;
  nghttp2_session_terminate_session(session(), NGHTTP2_NO_ERROR);
  flush_soon();
  watch_writing();
  return true;
}

void H2Connection::head_over() {
  head_due_ = {};
  head_id_ = 0;
  server_.heads_.close(*this);
}

// What the head that is being read takes beyond what any stream may.
void H2Connection::head_grew(H2Stream& stream) {
  const std::size_t memory = stream.head_memory();
  if (memory <= H2Stream::kUsualHead || server_.heads_.grow(*this, memory)) return;
  stream.crowd_out();
}

bool H2Connection::give_way() {
  H2Stream* const stream = head_id_ == 0 ? nullptr : find(head_id_);
  const bool alone = streams_.size() == (stream != nullptr && !stream->begun_ ? 1U : 0U);
  if (alone) {
    abandon();
  } else if (stream != nullptr) {
    stream->crowd_out();
  }
  return alone;
}

// A client that takes nothing of what is to be sent is waited for no longer than the write timeout.
void H2Connection::watch_writing() {
  const Duration limit = server_.limits_.write_timeout;
  if (!blocked() || link_closed() || stuck_due_ != TimePoint{} || limit == Duration{0}) return;
  stuck_at_ = bytes_sent();
  stuck_due_ = server_.clock_.now() + limit;
  arm_timer(stuck_due_);
}

void H2Connection::drain() {
  if (draining_ || lingering() || link_closed()) return;
  draining_ = true;
  nghttp2_submit_shutdown_notice(session());
  flush_soon();
  farewell_due_ = server_.clock_.now() + kFarewell;
  arm_timer(farewell_due_);
}

void H2Connection::say_farewell() {
  farewell_due_ = {};
  nghttp2_submit_goaway(session(), NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session()), NGHTTP2_NO_ERROR,
                        nullptr, 0);
  flush_soon();
}

void H2Connection::abandon() {
  if (link_closed()) return;
  server_.heads_.close(*this);
  on_link_end();
  close_link();
}

// One that drains sent its notice a second ago; the place of another is needed.
void H2Connection::on_link_done() {
  if (draining_ || gives_place_) {
    end();
    return;
  }
  linger();
  head_due_ = idle_due_ = unused_due_ = farewell_due_ = stuck_due_ = {};
  linger_due_ = server_.clock_.now() + kLingerTime;
  arm_timer(linger_due_);
}

void H2Connection::on_link_end() {
  server_.heads_.close(*this);
  // A stream that ends may admit another of this connection; that one ends as well.
  while (!streams_.empty()) close_stream(*streams_.back());
}

void H2Connection::on_link_released() {
  released_ = true;
  timer_.cancel();
  if (timers_pending_ > 0 || retired_) return;
  retired_ = true;
  server_.retire(*this);
}

H2Stream* H2Connection::find(std::int32_t id) const {
  return static_cast<H2Stream*>(nghttp2_session_get_stream_user_data(session(), id));
}

void H2Connection::add_stream(std::unique_ptr<H2Stream> stream) {
  // A stream that the session does not know is never found; the end of the link closes it.
  nghttp2_session_set_stream_user_data(session(), stream->id_, stream.get());
  stream->place_ = streams_.size();
  streams_.push_back(std::move(stream));
}

void H2Connection::open_stream(std::int32_t id) {
  idle_due_ = unused_due_ = {};
  std::unique_ptr<H2Stream> stream;
  if (spare_.empty()) {
    stream = std::make_unique<H2Stream>(*this, server_.gateway_.make_state());
  } else {
    stream = std::move(spare_.back());
    spare_.pop_back();
  }
  stream->open(id, peer_ip_, peer_local_);
  add_stream(std::move(stream));
}

void H2Connection::close_stream(H2Stream& stream) {
  nghttp2_session_set_stream_user_data(session(), stream.id_, nullptr);
  stream.on_closed();
  // A head that the session refuses has no end that it tells.
  if (stream.id_ == head_id_) head_over();
  // What ended with it may have moved its neighbours, so its place is asked for only now.
  std::unique_ptr<H2Stream>& place = streams_[stream.place_];
  std::swap(place, streams_.back());
  place->place_ = stream.place_;
  if (spare_.size() < kSpareMax) spare_.push_back(std::move(streams_.back()));
  streams_.pop_back();
  if (!streams_.empty() || link_closed()) return;
  const TimePoint now = server_.clock_.now();
  idle_due_ = now + kIdle;
  unused_due_ = now + server_.limits_.unused_timeout;
  arm_timer(std::min(idle_due_, unused_due_));
}

// Frames that carry nothing are paid from a budget that refills with time, so that neither a flood
// nor a quick succession of requests and resets costs more than it brings.
void H2Connection::pay_for_frame() {
  const double most = server_.limits_.control_frames_max;
  const TimePoint now = server_.clock_.now();
  control_budget_ =
      std::min(most, control_budget_ + to_seconds(now - budget_at_) * most / kBudgetRefillSeconds);
  budget_at_ = now;
  control_budget_ -= 1;
  if (control_budget_ < 0) {
    nghttp2_session_terminate_session(session(), NGHTTP2_ENHANCE_YOUR_CALM);
  }
}

void H2Connection::submit_head(std::int32_t id, const http::HeaderBlock& block, bool has_body) {
  H2Fields fields{block, H2Fields::Texts::lent};
  nghttp2_data_provider provider{};
  provider.read_callback = &Callbacks::read_body;
  if (nghttp2_submit_response(session(), id, fields.data(), fields.size(),
                              has_body ? &provider : nullptr) != 0) {
    reset(id, H2Error::internal);
  }
  flush_soon();
}

void H2Connection::submit_interim(std::int32_t id, const http::HeaderBlock& block) {
  H2Fields fields{block, H2Fields::Texts::copied};
  nghttp2_submit_headers(session(), NGHTTP2_FLAG_NONE, id, nullptr, fields.data(), fields.size(),
                         nullptr);
  flush_soon();
}

void H2Connection::resume(std::int32_t id) {
  nghttp2_session_resume_data(session(), id);
  flush_soon();
}

void H2Connection::consumed(std::int32_t id, std::size_t bytes) {
  if (bytes == 0) return;
  nghttp2_session_consume_stream(session(), id, bytes);
  flush_soon();
}

void H2Connection::grow_window(std::int32_t id, std::size_t size) {
  nghttp2_session_set_local_window_size(session(), NGHTTP2_FLAG_NONE, id,
                                        static_cast<std::int32_t>(size));
  flush_soon();
}

bool H2Connection::claim_window(std::size_t bytes) {
  if (claimed_ + bytes > kClaimedMax) return false;
  claimed_ += bytes;
  claimed_most_ = std::max(claimed_most_, claimed_);
  return true;
}

void H2Connection::reset(std::int32_t id, H2Error code) {
  nghttp2_submit_rst_stream(session(), NGHTTP2_FLAG_NONE, id, static_cast<std::uint32_t>(code));
  flush_soon();
  watch_writing();
}

}  // namespace sluice::net
