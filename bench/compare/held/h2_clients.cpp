#include "bench/compare/held/h2_clients.h"

#include "common/base/check.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <charconv>
#include <nghttp2/nghttp2.h>
#include <string_view>
#include <unordered_map>

namespace sluice::held {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

nghttp2_nv field_of(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

}  // namespace

struct H2Clients::Client {
  Client(asio::io_context& io, Tally& counts) : socket{io}, tally{counts} {
    nghttp2_session_callbacks* callbacks = nullptr;
    CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    CHECK(nghttp2_session_client_new(&session, callbacks, this) == 0);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, nullptr, 0);
  }

  ~Client() { nghttp2_session_del(session); }

  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* user) {
    const std::string_view key{reinterpret_cast<const char*>(name), name_size};
    if (key != ":status") return 0;
    const char* const digits = reinterpret_cast<const char*>(value);
    int status = 0;
    std::from_chars(digits, digits + value_size, status);
    static_cast<Client*>(user)->statuses[frame->hd.stream_id] = status;
    return 0;
  }

  static int on_close(nghttp2_session*, std::int32_t stream, std::uint32_t code, void* user) {
    Client& client = *static_cast<Client*>(user);
    client.tally.answered(code == NGHTTP2_NO_ERROR ? client.statuses[stream] : 0);
    client.statuses.erase(stream);
    --client.open;
    return 0;
  }

  void ask(std::uint64_t number, const std::string& host) {
    const std::string path = "/?id=" + std::to_string(number);
    const std::array fields{field_of(":method", "GET"), field_of(":scheme", "http"),
                            field_of(":authority", host), field_of(":path", path),
                            field_of("user-agent", "sluice-bench")};
    CHECK(nghttp2_submit_request(session, nullptr, fields.data(), fields.size(), nullptr, nullptr) >
          0);
    tally.sent();
    ++open;
  }

  void write(std::function<void()> written) {
    if (writing) return;
    const std::uint8_t* bytes = nullptr;
    out.clear();
    for (ssize_t size = 0; (size = nghttp2_session_mem_send(session, &bytes)) > 0;) {
      out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    }
    if (out.empty()) return;
    writing = true;
    asio::async_write(socket, asio::buffer(out),
                      [this, written = std::move(written)](const error_code& ec, std::size_t) {
                        writing = false;
                        if (written) written();
                        if (!ec) write({});
                      });
  }

  void read() {
    socket.async_read_some(asio::buffer(in), [this](const error_code& ec, std::size_t bytes) {
      if (ec) {
        for (; open > 0; --open) tally.answered(0);
        return;
      }
      nghttp2_session_mem_recv(session, in.data(), bytes);
      write({});
      read();
    });
  }

  net::Socket socket;
  Tally& tally;
  nghttp2_session* session = nullptr;
  std::unordered_map<std::int32_t, int> statuses;
  std::array<std::uint8_t, 16 * 1024> in{};
  std::string out;
  std::size_t open = 0;
  bool writing = false;
};

H2Clients::H2Clients(asio::io_context& io, const net::Address& server, std::string host,
                     Tally& tally)
    : io_{io}, server_{net::endpoint_of(server)}, host_{std::move(host)}, tally_{tally} {}

H2Clients::~H2Clients() = default;

void H2Clients::send(std::size_t streams, std::uint64_t first, std::function<void()> sent) {
  clients_.push_back(std::make_unique<Client>(io_, tally_));
  Client& client = *clients_.back();
  for (std::size_t i = 0; i < streams; ++i) client.ask(first + i, host_);
  client.socket.async_connect(server_, [&client, sent = std::move(sent)](const error_code& ec) {
    if (ec) {
      for (; client.open > 0; --client.open) client.tally.answered(0);
      sent();
      return;
    }
    net::prepare(client.socket);
    client.write(sent);
    client.read();
  });
}

}  // namespace sluice::held
