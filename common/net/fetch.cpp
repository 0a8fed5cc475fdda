#include "common/net/fetch.h"

#include "common/net/h1/h1_client.h"

#include <boost/asio/steady_timer.hpp>

#include <optional>
#include <utility>

namespace sluice::net {
namespace asio = boost::asio;

namespace {

Error error_of(H1Client::Ending::Kind kind) {
  using Kind = H1Client::Ending::Kind;
  switch (kind) {
    case Kind::unreachable:
      return Error::upstream_connect;
    case Kind::untrusted:
    case Kind::garbled:
      return Error::upstream_invalid;
    case Kind::silent:
    case Kind::cut:
    case Kind::whole:
      break;
  }
  return Error::upstream_reset;
}

}  // namespace

struct Fetch::Run {
  Run(asio::io_context& io, FetchRequest asked, Done on_done)
      : client{std::make_shared<H1Client>(io, std::move(asked.tls), asked.lookup)},
        timer{io},
        request{std::move(asked)},
        done{std::move(on_done)} {}

  static void start(const std::shared_ptr<Run>& self) {
    self->timer.expires_after(self->request.timeout);
    self->timer.async_wait([self](const boost::system::error_code& ec) {
      if (!ec) self->finish(FetchFailure{Error::deadline_exceeded, "no answer in time"});
    });
    H1Client::ask(self->client, self->request.target, std::move(self->request.text),
                  {.head = [self](http::ResponseHead& head) { self->take(head); },
                   .body = [self](std::string_view piece) { self->take(piece); },
                   .ended = [self](const H1Client::Ending& ending) { self->end(ending); }});
  }

  void take(http::ResponseHead& head) {
    response.head = std::move(head);
    if (request.head_only) report(std::move(response));
  }

  void take(std::string_view piece) {
    received += piece.size();
    if (received > request.body_max) {
      finish(FetchFailure{Error::too_large, "its answer is larger than " +
                                                std::to_string(request.body_max) + " bytes"});
    } else if (!request.head_only) {
      response.body.append(piece);
    }
  }

  void end(const H1Client::Ending& ending) {
    if (ending.kind == H1Client::Ending::Kind::whole) {
      finish(std::move(response));
    } else {
      finish(FetchFailure{error_of(ending.kind), ending.why});
    }
  }

  void finish(const FetchResult& result) {
    client->close();
    timer.cancel();
    report(result);
  }

  // Reports the result once; may destroy the fetch.
  void report(const FetchResult& result) {
    if (const Done call = std::exchange(done, {})) call(result);
  }

  std::shared_ptr<H1Client> client;
  asio::steady_timer timer;
  FetchRequest request;
  Done done;
  FetchResponse response;
  std::size_t received = 0;
};

Fetch::Fetch(asio::io_context& io, FetchRequest request, Done done)
    : run_{std::make_shared<Run>(io, std::move(request), std::move(done))} {
  Run::start(run_);
}

Fetch::~Fetch() {
  run_->done = {};
  run_->client->close();
  run_->timer.cancel();
}

FetchResult fetch_now(FetchRequest request) {
  asio::io_context io{1};
  std::optional<FetchResult> result;
  const Fetch fetch{io, std::move(request), [&](const FetchResult& got) {
                      result.emplace(got);
                      io.stop();
                    }};
  io.run();
  return std::move(*result);
}

}  // namespace sluice::net
