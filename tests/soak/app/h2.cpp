// HTTP/2 by prior knowledge, and the framing of gRPC: one message in, one out, trailers.
#include "tests/soak/app/loop.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <nghttp2/nghttp2.h>
#include <optional>
#include <vector>

namespace sluice::soak {
namespace {

constexpr std::uint32_t kStreams = 1000;
constexpr std::size_t kGrpcPrefix = 5;

nghttp2_nv field(const std::string& name, const std::string& value) {
  const auto octets = [](const std::string& text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  return {octets(name), octets(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

struct Stream {
  std::int32_t number = 0;
  std::map<std::string, std::string> headers;
  std::string id;
  std::string body;
  std::string answer;
  std::size_t sent = 0;
  bool running = false;
  bool grpc = false;
  std::optional<Timers::Id> timer;

  [[nodiscard]] long value(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? 0 : std::strtol(found->second.c_str(), nullptr, 10);
  }
};

class H2 final : public Protocol {
 public:
  H2(Wire& wire, Room& room) : wire_{wire}, room_{room} {
    nghttp2_session_callbacks* calls = nullptr;
    nghttp2_session_callbacks_new(&calls);
    nghttp2_session_callbacks_set_on_begin_headers_callback(calls, on_begin);
    nghttp2_session_callbacks_set_on_header_callback(calls, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(calls, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(calls, on_close);
    nghttp2_session_server_new(&session_, calls, this);
    nghttp2_session_callbacks_del(calls);
    const nghttp2_settings_entry entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kStreams};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &entry, 1);
  }

  ~H2() override {
    for (auto& [number, stream] : streams_) abandon(stream);
    nghttp2_session_del(session_);
  }

  H2(const H2&) = delete;
  H2& operator=(const H2&) = delete;

  bool feed(std::string_view bytes) override {
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    if (nghttp2_session_mem_recv(session_, data, bytes.size()) < 0) return false;
    drain();
    return nghttp2_session_want_read(session_) != 0 || nghttp2_session_want_write(session_) != 0;
  }

 private:
  static H2& self(void* data) { return *static_cast<H2*>(data); }

  static int on_begin(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* data) {
    self(data).streams_[frame->hd.stream_id].number = frame->hd.stream_id;
    return 0;
  }

  static int on_header(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                       const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                       std::size_t value_size, std::uint8_t /*flags*/, void* data) {
    self(data)
        .streams_[frame->hd.stream_id]
        .headers[{reinterpret_cast<const char*>(name), name_size}] = {
        reinterpret_cast<const char*>(value), value_size};
    return 0;
  }

  static int on_frame(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* data) {
    H2& h2 = self(data);
    const auto found = h2.streams_.find(frame->hd.stream_id);
    if (found == h2.streams_.end()) return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && !found->second.running) h2.begin(found->second);
    const bool carries = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (carries && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) h2.complete(found->second);
    return 0;
  }

  static int on_data(nghttp2_session* /*session*/, std::uint8_t /*flags*/, std::int32_t number,
                     const std::uint8_t* bytes, std::size_t size, void* data) {
    self(data).streams_[number].body.append(reinterpret_cast<const char*>(bytes), size);
    return 0;
  }

  static int on_close(nghttp2_session* /*session*/, std::int32_t number, std::uint32_t /*code*/,
                      void* data) {
    H2& h2 = self(data);
    const auto found = h2.streams_.find(number);
    if (found == h2.streams_.end()) return 0;
    h2.abandon(found->second);
    h2.streams_.erase(found);
    return 0;
  }

  static ssize_t on_read(nghttp2_session* session, std::int32_t number, std::uint8_t* to,
                         std::size_t size, std::uint32_t* flags, nghttp2_data_source* /*source*/,
                         void* data) {
    Stream& stream = self(data).streams_[number];
    const std::size_t part = std::min(size, stream.answer.size() - stream.sent);
    std::memcpy(to, stream.answer.data() + stream.sent, part);
    stream.sent += part;
    if (stream.sent == stream.answer.size()) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (stream.grpc) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        const std::string name = "grpc-status";
        const std::string value = "0";
        const nghttp2_nv trailer = field(name, value);
        nghttp2_submit_trailer(session, number, &trailer, 1);
      }
    }
    return static_cast<ssize_t>(part);
  }

  void begin(Stream& stream) {
    stream.id = stream.headers["x-soak-id"];
    stream.grpc = stream.headers["content-type"].starts_with("application/grpc");
    if (stream.id.empty()) return;
    stream.running = true;
    room_.journal.begin(stream.id);
  }

  void complete(Stream& stream) {
    if (!stream.running) {
      respond(stream, room_.ready || stream.headers[":path"] != "/ready" ? "200" : "503");
      return;
    }
    const std::string_view body{stream.body};
    const std::string_view message =
        body.substr(stream.grpc ? std::min(kGrpcPrefix, body.size()) : 0);
    if (!message.empty() && !message.starts_with(stream.id + " ")) {
      room_.journal.mixed_up(stream.id);
    }
    const std::int32_t number = stream.number;
    stream.timer = room_.timers.after(static_cast<double>(stream.value("x-soak-ms")) / 1000,
                                      [this, number] { end(number); });
  }

  void end(std::int32_t number) {
    Stream& stream = streams_[number];
    stream.timer.reset();
    std::string text = stream.id + " " + room_.journal.pod() + "\n";
    text.append(static_cast<std::size_t>(stream.value("x-soak-size")), '.');
    if (stream.grpc) {
      const auto octet = [&text](unsigned shift) {
        return static_cast<char>(text.size() >> shift & 0xffU);
      };
      stream.answer = {'\0', octet(24), octet(16), octet(8), octet(0)};
    }
    stream.answer += text;
    // Counted out before the last byte leaves: the next may come as soon as that is read.
    room_.journal.end(stream.id);
    stream.running = false;
    respond(stream, "200");
    drain();
  }

  void respond(Stream& stream, const std::string& status) {
    const std::array<std::string, 4> names{":status", "content-type", "x-soak-id", "x-soak-pod"};
    const std::string type = stream.grpc ? "application/grpc" : "text/plain";
    const std::array<nghttp2_nv, 4> fields{field(names[0], status), field(names[1], type),
                                           field(names[2], stream.id),
                                           field(names[3], room_.journal.pod())};
    nghttp2_data_provider provider{};
    provider.read_callback = on_read;
    nghttp2_submit_response(session_, stream.number, fields.data(), fields.size(), &provider);
  }

  void abandon(Stream& stream) {
    if (stream.timer) room_.timers.cancel(*stream.timer);
    if (stream.running) room_.journal.abandon(stream.id);
    stream.running = false;
  }

  void drain() {
    const std::uint8_t* data = nullptr;
    while (true) {
      const ssize_t size = nghttp2_session_mem_send(session_, &data);
      if (size <= 0) return;
      wire_.send({reinterpret_cast<const char*>(data), static_cast<std::size_t>(size)});
    }
  }

  Wire& wire_;
  Room& room_;
  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, Stream> streams_;
};

}  // namespace

std::unique_ptr<Protocol> make_h2(Wire& wire, Room& room) {
  return std::make_unique<H2>(wire, room);
}

}  // namespace sluice::soak
