// The request path allocates nothing once its connections have their buffers (style, hot path
// budget).

#include "tests/unit/common/net/stage.h"

#include <cstdlib>
#include <new>

namespace {

std::size_t allocations = 0;

void* counted(std::size_t bytes) {
  ++allocations;
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc{};
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
  return counted(bytes);
}

void* operator new[](std::size_t bytes) {
  return counted(bytes);
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete[](void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}

void operator delete[](void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}

namespace sluice::net::testing {
namespace {

constexpr int kWarmUp = 20;
constexpr int kCounted = 50;

class AllocationTest : public Stage {
 protected:
  AllocationTest() {
    http::RequestRewrite rewrite;
    rewrite.peer_ip = "127.0.0.1";
    rewrite.original_host = http::OriginalHost::restored;
    rewrite.derive_forwarded = true;
    gateway_.on_begin = [this, rewrite](Exchange& exchange) {
      exchange.set_timeouts({std::chrono::seconds{60}, std::nullopt, std::nullopt});
      exchange.forward(pool_, rewrite);
    };
    gateway_.ends.reserve(kWarmUp + kCounted);
  }

  /// How many allocations `kCounted` such requests of one connection make.
  std::size_t count(const std::string& request, const std::string& last) {
    Client client{address_};
    std::size_t before = 0;
    for (int i = 0; i < kWarmUp + kCounted; ++i) {
      if (i == kWarmUp) before = allocations;
      client.forget();
      upstream_.forget();
      client.send(request);
      while (!client.seen().ends_with(last)) {
        io_.run_one_for(std::chrono::milliseconds{10});
        io_.poll();
        client.take();
      }
    }
    return allocations - before;
  }
};

TEST_F(AllocationTest, NoneForAGetOnWarmConnections) {
  upstream_.play(
      {{"HTTP/1.1 200 OK\r\nDate: now\r\nServer: x\r\nContent-Type: text/plain\r\n"
        "Content-Length: 5\r\n\r\nhello"}});

  EXPECT_EQ(count("GET /a?b=c HTTP/1.1\r\nHost: service.namespace.example.com\r\n"
                  "User-Agent: curl/8.0\r\nAccept: */*\r\nX-Request-Id: 0123456789abcdef\r\n\r\n",
                  "hello"),
            0U);
}

TEST_F(AllocationTest, NoneForOneThatTheActivatorPassedOn) {
  upstream_.play(
      {{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"}});

  EXPECT_EQ(count("GET / HTTP/1.1\r\nHost: 10.0.0.1:8012\r\nK-Original-Host: a.example.com\r\n"
                  "K-Proxy-Request: activator\r\nX-Forwarded-For: 203.0.113.7, 2001:db8::1\r\n"
                  "X-Forwarded-Proto: https\r\nConnection: keep-alive\r\n\r\n",
                  "0\r\n\r\n"),
            0U);
}

TEST_F(AllocationTest, NoneForASmallUpload) {
  upstream_.play({{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"}});

  EXPECT_EQ(count("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 16384\r\n\r\n" +
                      std::string(16'384, 'x'),
                  "hello"),
            0U);
}

}  // namespace
}  // namespace sluice::net::testing
