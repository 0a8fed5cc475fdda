// A WebSocket server and client that test a sidecar between them.
//   websocket_peer server            prints its port; echoes messages; ends when its input does
//   websocket_peer client HOST PORT  exit status 0 when every message came back as it went
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>

#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

namespace {

namespace asio = boost::asio;
namespace websocket = boost::beast::websocket;
using asio::ip::tcp;
using boost::beast::error_code;
using Stream = websocket::stream<tcp::socket>;

void echo(tcp::socket socket) {
  Stream stream{std::move(socket)};
  stream.read_message_max(16U << 20U);
  error_code ec;
  stream.accept(ec);
  boost::beast::flat_buffer message;
  while (!ec) {
    message.clear();
    stream.read(message, ec);
    if (ec) break;
    stream.text(stream.got_text());
    stream.write(message.data(), ec);
  }
}

int serve() {
  asio::io_context io;
  tcp::acceptor acceptor{io, {asio::ip::address_v4::loopback(), 0}};
  std::printf("%d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  std::thread accepting{[&acceptor, &io] {
    error_code ec;
    for (;;) {
      tcp::socket socket{io};
      acceptor.accept(socket, ec);
      if (ec) return;
      std::thread{echo, std::move(socket)}.detach();
    }
  }};
  accepting.detach();
  while (std::getchar() != EOF) {
  }
  std::fflush(nullptr);
  std::_Exit(0);  // the threads that wait for their clients end with the process
}

int complain(const char* what, const error_code& ec) {
  std::fprintf(stderr, "%s: %s\n", what, ec.message().c_str());
  return 1;
}

// One message there and back, cut into frames of at most `frame` bytes.
int round_trip(Stream& stream, std::size_t bytes, std::size_t frame) {
  std::string sent(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) sent[i] = static_cast<char>(i * 7);
  stream.binary(true);
  stream.auto_fragment(frame > 0);
  stream.write_buffer_bytes(frame > 0 ? frame : 4096);
  error_code ec;
  stream.write(asio::buffer(sent), ec);
  if (ec) return complain("write", ec);
  boost::beast::flat_buffer message;
  stream.read(message, ec);
  if (ec) return complain("read", ec);
  if (boost::beast::buffers_to_string(message.data()) != sent) {
    std::fprintf(stderr, "%zu bytes came back changed\n", bytes);
    return 1;
  }
  return 0;
}

int ask(const std::string& host, const std::string& port) {
  asio::io_context io;
  tcp::socket socket{io};
  error_code ec;
  socket.connect({asio::ip::make_address(host), static_cast<std::uint16_t>(std::stoi(port))}, ec);
  if (ec) return complain("connect", ec);
  Stream stream{std::move(socket)};
  stream.read_message_max(16U << 20U);
  int pongs = 0;
  stream.control_callback([&pongs](websocket::frame_type kind, boost::beast::string_view payload) {
    if (kind == websocket::frame_type::pong && payload == "are you there") ++pongs;
  });
  stream.handshake(host, "/echo", ec);
  if (ec) return complain("handshake", ec);
  for (const std::size_t bytes : {0U, 1U, 125U, 126U, 65'535U, 65'536U, 4'000'000U}) {
    if (round_trip(stream, bytes, 0) != 0 || round_trip(stream, bytes, 1000) != 0) return 1;
  }
  stream.ping("are you there", ec);
  if (ec) return complain("ping", ec);
  if (round_trip(stream, 10, 0) != 0) return 1;
  if (pongs != 1) {
    std::fprintf(stderr, "%d pongs came\n", pongs);
    return 1;
  }
  stream.close(websocket::close_code::normal, ec);
  return ec ? complain("close", ec) : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "server") == 0) return serve();
  if (argc == 4 && std::strcmp(argv[1], "client") == 0) return ask(argv[2], argv[3]);
  std::fputs("usage: websocket_peer server | client HOST PORT\n", stderr);
  return 2;
}
