#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "platform/process/sidecar.h"
#include <utility>

namespace sluice::local {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

/// The sidecar holds a question for at most 10 s (queue-proxy.md 10); the rest is for a busy
/// machine.
constexpr std::chrono::seconds kAnswerLimit{15};
constexpr std::uint64_t kBodyBytesMax = 4096;

}  // namespace

/// One question on a connection of its own. Each pending operation holds the exchange alive, so it
/// needs no owner once it is abandoned: the closed socket ends the operation, the empty callback
/// swallows the answer.
struct SidecarProbe::Exchange {
  explicit Exchange(asio::io_context& io) : stream(io) {}

  using Self = std::shared_ptr<Exchange>;

  beast::basic_stream<asio::local::stream_protocol> stream;
  beast::flat_buffer buffer;
  http::request<http::empty_body> request{http::verb::get, "/healthz", 11};
  http::response_parser<http::string_body> parser;
  std::function<void(ProbeAnswer)> callback;

  static void begin(const Self& self, const std::string& path) {
    self->request.set(http::field::host, "x");
    self->request.set(http::field::user_agent, "Knative-Activator-Probe");
    self->request.set("K-Network-Probe", "queue");
    self->parser.body_limit(kBodyBytesMax);
    self->stream.expires_after(kAnswerLimit);
    self->stream.async_connect(asio::local::stream_protocol::endpoint(path),
                               [self](const beast::error_code& failed) {
                                 if (failed) return self->finish(ProbeAnswer::unreachable);
                                 write(self);
                               });
  }

  static void write(const Self& self) {
    http::async_write(self->stream, self->request,
                      [self](const beast::error_code& failed, std::size_t) {
                        if (failed) return self->finish(ProbeAnswer::unreachable);
                        read(self);
                      });
  }

  static void read(const Self& self) {
    http::async_read(self->stream, self->buffer, self->parser,
                     [self](const beast::error_code& failed, std::size_t) {
                       if (failed) return self->finish(ProbeAnswer::unreachable);
                       const auto& response = self->parser.get();
                       const bool ready =
                           response.result_int() == 200 && response.body() == "queue";
                       self->finish(ready ? ProbeAnswer::ready : ProbeAnswer::not_ready);
                     });
  }

  void finish(ProbeAnswer answer) {
    stream.close();
    if (const auto call = std::exchange(callback, nullptr)) call(answer);
  }
};

SidecarProbe::SidecarProbe(asio::io_context& io, std::filesystem::path socket)
    : io_(io), socket_(std::move(socket)) {}

SidecarProbe::~SidecarProbe() {
  if (!exchange_) return;
  exchange_->callback = nullptr;
  exchange_->stream.close();
}

void SidecarProbe::ask(std::function<void(ProbeAnswer)> callback) {
  if (exchange_) {
    exchange_->callback = nullptr;
    exchange_->stream.close();
  }
  exchange_ = std::make_shared<Exchange>(io_);
  exchange_->callback = std::move(callback);
  Exchange::begin(exchange_, socket_.string());
}

}  // namespace sluice::local
