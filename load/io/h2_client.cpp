#include "load/io/h2_client.h"

#include "common/base/check.h"
#include "common/net/h2/h2_fields.h"
#include "common/net/h2/h2_session.h"
#include "common/values/whole_number.h"

#include "load/io/h2_head.h"
#include "load/io/h2_pool.h"
#include "load/io/wire_response.h"
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace sluice::loadgen {

namespace {

constexpr std::size_t kUnsettledMax = 100;  // of one whose peer has not said what it allows
constexpr std::uint32_t kWindow = 1U << 20U;

H2Exchange* exchange_of(nghttp2_session* session, std::int32_t stream) {
  return static_cast<H2Exchange*>(nghttp2_session_get_stream_user_data(session, stream));
}

}  // namespace

// What nghttp2 calls, one function per event. None of them may throw.
struct H2Client::Events {
  static H2Client& self(void* data) { return *static_cast<H2Client*>(data); }

  static int begin_headers(nghttp2_session*, const nghttp2_frame*, void*) { return 0; }

  static int header(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t, void*) {
    H2Exchange* exchange = exchange_of(session, frame->hd.stream_id);
    if (exchange != nullptr) {
      exchange->take_field(net::text_of(name, name_size), net::text_of(value, value_size));
    }
    return 0;
  }

  static int frame_recv(nghttp2_session* session, const nghttp2_frame* frame, void* data) {
    switch (frame->hd.type) {
      case NGHTTP2_SETTINGS:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) self(data).settle();
        return 0;
      case NGHTTP2_GOAWAY:
        self(data).going_away_ = true;
        return 0;
      case NGHTTP2_HEADERS:
      case NGHTTP2_DATA:
        break;
      default:
        return 0;
    }
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    H2Exchange* exchange = exchange_of(session, frame->hd.stream_id);
    if (exchange == nullptr) return 0;
    exchange->whole_ = true;
    // What is still being sent of the request has no reader.
    if (nghttp2_session_get_stream_local_close(session, frame->hd.stream_id) == 0) {
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_CANCEL);
    }
    return 0;
  }

  static int data_chunk(nghttp2_session* session, std::uint8_t, std::int32_t stream,
                        const std::uint8_t*, std::size_t size, void*) {
    nghttp2_session_consume(session, stream, size);
    if (H2Exchange* exchange = exchange_of(session, stream)) exchange->answer_.bytes += size;
    return 0;
  }

  static int frame_send(nghttp2_session*, const nghttp2_frame*, void*) { return 0; }

  // A head that could not be sent has opened no stream that could close.
  static int frame_not_send(nghttp2_session* session, const nghttp2_frame* frame, int, void* data) {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    H2Client& client = self(data);
    const auto found = std::find_if(
        client.active_.begin(), client.active_.end(),
        [&](const H2Exchange* other) { return other->stream_ == frame->hd.stream_id; });
    if (found == client.active_.end()) return 0;
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, nullptr);
    client.closed(**found, NGHTTP2_REFUSED_STREAM);
    return 0;
  }

  static int stream_close(nghttp2_session* session, std::int32_t stream, std::uint32_t code,
                          void* data) {
    H2Exchange* exchange = exchange_of(session, stream);
    if (exchange != nullptr) self(data).closed(*exchange, code);
    return 0;
  }

  static ssize_t read_body(nghttp2_session* session, std::int32_t stream, std::uint8_t* to,
                           std::size_t room, std::uint32_t* flags, nghttp2_data_source*, void*) {
    H2Exchange* exchange = exchange_of(session, stream);
    if (exchange == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    std::string_view& rest = exchange->body_;
    const std::size_t part = std::min(room, rest.size());
    std::memcpy(to, rest.data(), part);
    rest.remove_prefix(part);
    if (rest.empty()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(part);
  }

  static nghttp2_session* make(H2Client& client) {
    const std::array<nghttp2_settings_entry, 2> settings{
        nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow}};
    return net::make_h2_session({false, &client, WireResponse::kHeaderBytesMax, settings},
                                net::callbacks_of<Events>(), client.session_memory());
  }
};

void H2Exchange::send(const Request& request) {
  CHECK(client_ == nullptr);
  body_ = request.body;
  answer_ = {};
  whole_ = false;
  pool_->submit(*this, request);
}

void H2Exchange::close() {
  if (client_ != nullptr) client_->forget(*this);
}

bool H2Exchange::is_connecting() const {
  return client_ != nullptr && client_->is_connecting();
}

void H2Exchange::take_field(std::string_view name, std::string_view value) {
  if (name == ":status") {
    answer_.status = whole_number<unsigned>(value).value_or(0);
  } else if (name == "sluice-error") {
    answer_.refused = true;
  } else if (name == "grpc-status") {
    answer_.grpc = whole_number<unsigned>(value).value_or(2);  // UNKNOWN
  }
}

// Of an answer that is whole.
Ending H2Exchange::ending() const {
  if (answer_.status < 200) return Ending::h2;
  if (!is_grpc_ || answer_.status != 200) return Ending::answered;
  return answer_.grpc == 0U ? Ending::answered : Ending::grpc;
}

H2Client::H2Client(boost::asio::io_context& io, H2Pool& pool)
    : H2Link{io, net::Stream{net::Socket{io}}}, pool_{pool}, dial_{io, *this} {
  adopt(Events::make(*this));
}

void H2Client::dial() {
  dialling_ = true;
  dial_.start(pool_.peer());
}

void H2Client::adopt_stream(net::Stream made) {
  stream() = std::move(made);
  start_io({});
}

void H2Client::on_dialled() {
  net::Socket socket = dial_.take_socket();
  auto session = dial_.take_session();
  if (session && session->protocol() != "h2") {
    on_dial_failed(Ending::h2,
                   "the server at " + pool_.peer().text() + " offers no HTTP/2 over TLS");
    return;
  }
  dialling_ = false;
  if (opener_ != nullptr) pool_.connected(*opener_);
  opener_ = nullptr;
  adopt_stream(session ? net::Stream{std::move(socket), std::move(session)}
                       : net::Stream{std::move(socket)});
}

void H2Client::on_dial_failed(Ending ending, const std::string& text) {
  dialling_ = false;
  going_away_ = true;
  failing_ = true;  // an owner that opens others must not remove this one
  close_link();
  fail_all(ending, text);
  failing_ = false;
}

// The peer has closed, or what it sends is not HTTP/2.
void H2Client::on_link_end() {
  going_away_ = true;
  const std::string place = pool_.peer().text();
  if (!settled_ && !first_bytes().empty()) {
    fail_all(Ending::h2, "the server at " + place + " does not speak HTTP/2");
  } else if (!settled_) {
    fail_all(Ending::reset, "the server at " + place +
                                " closed the connection before it sent anything: it may not "
                                "speak HTTP/2");
  } else {
    fail_all(Ending::reset, "HTTP/2 with " + place + ": the connection ended");
  }
}

void H2Client::settle() {
  settled_ = true;
  allowed_ = std::min<std::size_t>(
      kStreamsMax,
      nghttp2_session_get_remote_settings(session(), NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS));
  pool_.changed();
}

bool H2Client::has_room() const {
  if (!is_usable()) return false;
  const H2Limits& limits = pool_.limits();
  if (limits.reuse && carried_ >= *limits.reuse) return false;
  const std::size_t allowed = settled_ ? allowed_ : kUnsettledMax;
  return active_.size() < std::min(allowed, limits.streams.value_or(allowed));
}

void H2Client::submit(H2Exchange& exchange, const Request& request) {
  const std::span<const nghttp2_nv> fields = request.fields->with(request.head, request.id);
  nghttp2_data_provider provider{};
  provider.read_callback = &Events::read_body;
  exchange.is_grpc_ = pool_.peer().protocol == Protocol::grpc;
  exchange.client_ = this;
  exchange.place_ = active_.size();
  active_.push_back(&exchange);
  if (dialling_ && opener_ == nullptr && carried_ == 0) opener_ = &exchange;
  ++carried_;
  exchange.stream_ = nghttp2_submit_request(session(), nullptr, fields.data(), fields.size(),
                                            request.body.empty() ? nullptr : &provider, &exchange);
  CHECK(exchange.stream_ > 0);
  flush_soon();
}

void H2Client::forget(H2Exchange& exchange) {
  nghttp2_session_set_stream_user_data(session(), exchange.stream_, nullptr);
  nghttp2_submit_rst_stream(session(), NGHTTP2_FLAG_NONE, exchange.stream_, NGHTTP2_CANCEL);
  release(exchange);
  flush_soon();
}

void H2Client::release(H2Exchange& exchange) {
  if (opener_ == &exchange) opener_ = nullptr;
  exchange.client_ = nullptr;
  active_[exchange.place_] = active_.back();
  active_[exchange.place_]->place_ = exchange.place_;
  active_.pop_back();
  const H2Limits& limits = pool_.limits();
  if (active_.empty() && limits.reuse && carried_ >= *limits.reuse && !dialling_) {
    going_away_ = true;
    nghttp2_session_terminate_session(session(), NGHTTP2_NO_ERROR);
    flush_soon();
  }
}

void H2Client::closed(H2Exchange& exchange, std::uint32_t code) {
  Ending ending = Ending::h2;
  if (exchange.whole_) {
    ending = exchange.ending();
  } else {
    pool_.failed("HTTP/2 with " + pool_.peer().text() +
                 ": the server ended a stream: " + nghttp2_http2_strerror(code));
  }
  if (ending == Ending::grpc) {
    pool_.failed("gRPC with " + pool_.peer().text() + ": " +
                 (exchange.answer_.grpc ? "status " + std::to_string(*exchange.answer_.grpc)
                                        : std::string{"an answer without grpc-status"}));
  }
  release(exchange);
  pool_.has_room_at(*this);
  exchange.owner_.ended(exchange, ending);
}

void H2Client::fail_all(Ending ending, const std::string& text) {
  if (active_.empty()) return;
  failing_ = true;
  pool_.failed(text);
  const std::vector<H2Exchange*> lost = std::exchange(active_, {});
  opener_ = nullptr;
  for (H2Exchange* exchange : lost) {
    exchange->client_ = nullptr;
    nghttp2_session_set_stream_user_data(session(), exchange->stream_, nullptr);
  }
  for (H2Exchange* exchange : lost) exchange->owner_.ended(*exchange, ending);
  failing_ = false;
}

void H2Client::close() {
  dial_.cancel();
  dialling_ = false;
  going_away_ = true;
  close_link();
}

}  // namespace sluice::loadgen
