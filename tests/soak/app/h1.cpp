// HTTP/1.1 and WebSocket, as much as stands behind a sidecar: heads are well formed by then.
#include "tests/soak/app/loop.h"

#include <boost/beast/core/detail/base64.hpp>
#include <boost/uuid/detail/sha1.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace sluice::soak {
namespace {

constexpr std::size_t kHeadBytesMax = 64 * 1024;
constexpr unsigned kText = 1;
constexpr unsigned kClose = 8;
constexpr unsigned kPing = 9;

std::string lower(std::string_view text) {
  std::string made{text};
  std::transform(made.begin(), made.end(), made.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return made;
}

// Takes one chunk off the front of `raw` into `body`. False: more bytes are needed.
bool take_chunk(std::string& raw, std::string& body, bool& last) {
  const std::size_t line = raw.find("\r\n");
  if (line == std::string::npos) return false;
  const std::size_t size = std::strtoul(raw.c_str(), nullptr, 16);
  if (raw.size() < line + 2 + size + 2) return false;
  body.append(raw, line + 2, size);
  raw.erase(0, line + 2 + size + 2);
  last = size == 0;
  return true;
}

// The words of Sec-WebSocket-Accept (RFC 6455 4.2.2).
std::string accept_key(const std::string& key) {
  const std::string joined = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  boost::uuids::detail::sha1 digest;
  digest.process_bytes(joined.data(), joined.size());
  unsigned words[5];
  digest.get_digest(words);
  std::array<unsigned char, 20> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(words[i / 4] >> (24 - 8 * (i % 4)));
  }
  std::array<char, 32> text{};
  const std::size_t size =
      boost::beast::detail::base64::encode(text.data(), bytes.data(), bytes.size());
  return {text.data(), size};
}

std::string frame(unsigned opcode, std::string_view payload) {
  std::string made{static_cast<char>(0x80U | opcode)};
  if (payload.size() < 126) {
    made.push_back(static_cast<char>(payload.size()));
  } else {
    made.push_back(126);
    made.push_back(static_cast<char>(payload.size() >> 8U));
    made.push_back(static_cast<char>(payload.size() & 0xffU));
  }
  return made.append(payload);
}

struct Request {
  std::string path;
  std::map<std::string, std::string> headers;
  std::string body;

  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string{} : found->second;
  }

  [[nodiscard]] long number(const std::string& name) const {
    return std::strtol(header(name).c_str(), nullptr, 10);
  }
};

class H1 final : public Protocol {
 public:
  H1(Wire& wire, Room& room) : wire_{wire}, room_{room} {}

  ~H1() override {
    if (timer_) room_.timers.cancel(*timer_);
    if (stage_ != Stage::head) room_.journal.abandon(id_);
  }

  H1(const H1&) = delete;
  H1& operator=(const H1&) = delete;

  bool feed(std::string_view bytes) override {
    raw_.append(bytes);
    bool more = true;
    while (more && usable_) {
      if (stage_ == Stage::head) {
        more = take_head();
      } else if (stage_ == Stage::body) {
        more = take_body();
      } else if (stage_ == Stage::frames) {
        more = take_frame();
      } else {
        more = false;  // one request at a time: what follows waits for its answer
      }
    }
    return usable_;
  }

 private:
  enum class Stage { head, body, answering, frames };

  bool take_head() {
    const std::size_t end = raw_.find("\r\n\r\n");
    if (end == std::string::npos) {
      usable_ = raw_.size() < kHeadBytesMax;
      return false;
    }
    read_head(raw_.substr(0, end));
    raw_.erase(0, end + 4);
    if (request_.path == "/ready") {
      wire_.send(room_.ready ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
                             : "HTTP/1.1 503 Not Ready\r\nContent-Length: 2\r\n\r\nno");
      return true;
    }
    id_ = request_.header("x-soak-id");
    if (id_.empty()) {
      wire_.send("HTTP/1.1 400 No Id\r\nContent-Length: 0\r\n\r\n");
      return true;
    }
    room_.journal.begin(id_);
    if (lower(request_.header("upgrade")) == "websocket") {
      stage_ = Stage::frames;
      wire_.send(
          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
          ("Sec-WebSocket-Accept: " + accept_key(request_.header("sec-websocket-key"))) +
          "\r\nX-Soak-Id: " + id_ + "\r\nX-Soak-Pod: " + room_.journal.pod() + "\r\n\r\n");
    } else {
      stage_ = Stage::body;
    }
    return true;
  }

  void read_head(std::string_view head) {
    request_ = {};
    const std::size_t first = head.find(' ');
    request_.path = head.substr(first + 1, head.find(' ', first + 1) - first - 1);
    std::size_t at = head.find("\r\n");
    while (at != std::string_view::npos) {
      const std::size_t next = head.find("\r\n", at + 2);
      const std::string_view line = head.substr(at + 2, next - at - 2);
      const std::size_t colon = std::min(line.find(':'), line.size());
      const std::size_t value = line.find_first_not_of(" \t", colon + 1);
      request_.headers[lower(line.substr(0, colon))] =
          value == std::string_view::npos ? std::string{} : std::string{line.substr(value)};
      at = next;
    }
  }

  bool take_body() {
    if (lower(request_.header("transfer-encoding")) == "chunked") {
      bool last = false;
      while (!last) {
        if (!take_chunk(raw_, request_.body, last)) return false;
      }
    } else {
      const auto size = static_cast<std::size_t>(request_.number("content-length"));
      if (raw_.size() < size) return false;
      request_.body = raw_.substr(0, size);
      raw_.erase(0, size);
    }
    if (!request_.body.empty() && !request_.body.starts_with(id_ + " ")) {
      room_.journal.mixed_up(id_);
    }
    answer();
    return false;
  }

  // The whole answer after the time asked for, or its head at once and the rest then.
  void answer() {
    stage_ = Stage::answering;
    const bool in_parts = !request_.header("x-soak-parts").empty();
    const std::string names =
        "X-Soak-Id: " + id_ + "\r\nX-Soak-Pod: " + room_.journal.pod() + "\r\n";
    std::string body = id_ + " " + room_.journal.pod() + "\n";
    body.append(static_cast<std::size_t>(request_.number("x-soak-size")), '.');
    std::string rest;
    char size[16];
    std::snprintf(size, sizeof size, "%zx", body.size());
    if (in_parts) {
      wire_.send("HTTP/1.1 200 OK\r\n" + names +
                 "Transfer-Encoding: chunked\r\n\r\n5\r\npart:\r\n");
      rest = size + ("\r\n" + body) + "\r\n0\r\n\r\n";
    } else {
      rest = "HTTP/1.1 200 OK\r\n" + names + "Content-Length: " + std::to_string(body.size()) +
             "\r\n\r\n" + body;
    }
    timer_ = room_.timers.after(static_cast<double>(request_.number("x-soak-ms")) / 1000,
                                [this, rest] { end(rest); });
  }

  void end(const std::string& rest) {
    timer_.reset();
    // Counted out before the last byte leaves: the next may come as soon as that is read.
    room_.journal.end(id_);
    stage_ = Stage::head;
    wire_.send(rest);
    feed({});
  }

  // A client's message comes back with the pod's name; frames are whole and below 64 KiB.
  bool take_frame() {
    if (raw_.size() < 2) return false;
    const auto octet = [this](std::size_t at) { return static_cast<unsigned char>(raw_[at]); };
    std::size_t size = octet(1) & 127U;
    std::size_t at = 2;
    if (size == 126) {
      if (raw_.size() < 4) return false;
      size = static_cast<std::size_t>(octet(2)) << 8U | octet(3);
      at = 4;
    }
    if (raw_.size() < at + 4 + size) return false;
    std::string payload = raw_.substr(at + 4, size);
    for (std::size_t i = 0; i < size; ++i) {
      payload[i] = static_cast<char>(static_cast<unsigned char>(payload[i]) ^ octet(at + i % 4));
    }
    const unsigned opcode = octet(0) & 15U;
    raw_.erase(0, at + 4 + size);
    if (opcode == kText) {
      if (!payload.starts_with(id_ + " ")) room_.journal.mixed_up(id_);
      wire_.send(frame(kText, payload + " " + room_.journal.pod()));
    } else if (opcode == kPing) {
      wire_.send(frame(10, payload));
    } else if (opcode == kClose) {
      room_.journal.end(id_);
      stage_ = Stage::head;
      wire_.send(frame(kClose, payload));
      wire_.finish();
      return false;
    }
    return true;
  }

  Wire& wire_;
  Room& room_;
  std::string raw_;
  Stage stage_ = Stage::head;
  bool usable_ = true;
  std::string id_;
  Request request_;
  std::optional<Timers::Id> timer_;
};

}  // namespace

std::unique_ptr<Protocol> make_h1(Wire& wire, Room& room) {
  return std::make_unique<H1>(wire, room);
}

}  // namespace sluice::soak
