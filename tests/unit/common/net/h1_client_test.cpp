// The client of HTTP/1: how an exchange is told piece by piece, how it ends, and what a fetch makes
// of it.

#include "common/net/h1/h1_client.h"

#include "common/net/fetch.h"
#include "common/net/tls/tls_trust.h"
#include "tests/unit/common/files/scratch_directory.h"
#include "tests/unit/common/net/stage.h"

#include <optional>
#include <sys/socket.h>
#include <unistd.h>

namespace sluice::net::testing {
namespace {

using namespace std::chrono_literals;
using After = ScriptedUpstream::After;
using Kind = H1Client::Ending::Kind;

constexpr const char* kRequest = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr const char* kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

class H1ClientTest : public Stage {
 protected:
  void ask(const Address& address, std::string request = kRequest) {
    told_.clear();
    ending_.reset();
    H1Client::ask(
        client_, address, std::move(request),
        {.head = [this](http::ResponseHead& head) { told_ += std::to_string(head.status) + " "; },
         .body = [this](std::string_view piece) { told_.append(piece).append(" "); },
         .ended = [this](const H1Client::Ending& ending) { ending_ = ending; }});
  }

  const H1Client::Ending& end_of(const Address& address, std::string request = kRequest) {
    ask(address, std::move(request));
    until([this] { return ending_.has_value(); });
    return *ending_;
  }

  Address port_without_a_listener() {
    Listener listener{io_, [](Socket) {}};
    return *listener.open({.host = "127.0.0.1", .port = 0, .path = {}});
  }

  std::shared_ptr<H1Client> client_ = std::make_shared<H1Client>(io_, nullptr, look_up);
  std::string told_;
  std::optional<H1Client::Ending> ending_;
};

TEST_F(H1ClientTest, ReportsAResponsePieceByPiece) {
  upstream_.play(
      {{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"}});
  ask(upstream_.address());
  until([this] { return told_ == "200 abc "; });
  EXPECT_FALSE(ending_);

  upstream_.say("2\r\nde\r\n0\r\n\r\n");
  until([this] { return ending_.has_value(); });

  EXPECT_EQ(told_, "200 abc de ");
  EXPECT_EQ(ending_->kind, Kind::whole);
  EXPECT_EQ(ending_->why, "");
  EXPECT_TRUE(client_->reusable());
}

TEST_F(H1ClientTest, CarriesOneExchangeAfterTheOtherUntilTheServerCloses) {
  upstream_.play({{kAnswer}});
  end_of(upstream_.address());
  bool lost = false;
  H1Client::rest(client_, [&lost] { lost = true; });
  settle();
  EXPECT_EQ(end_of(upstream_.address()).kind, Kind::whole);
  EXPECT_EQ(upstream_.connections(), 1U);
  EXPECT_FALSE(lost);

  H1Client::rest(client_, [&lost] { lost = true; });
  upstream_.hang_up(After::close);
  until([&lost] { return lost; });
}

TEST_F(H1ClientTest, FindsAServerByItsName) {
  upstream_.play({{kAnswer}});
  EXPECT_EQ(end_of({.host = "localhost", .port = upstream_.address().port, .path = {}}).kind,
            Kind::whole);
}

TEST_F(H1ClientTest, ReportsTheFaultOfAResponse) {
  const auto ending_after = [this](std::string bytes, After after) {
    client_ = std::make_shared<H1Client>(io_);
    upstream_.play({{std::move(bytes), after}});
    return end_of(upstream_.address()).kind;
  };

  EXPECT_EQ(ending_after("", After::close), Kind::silent);
  EXPECT_EQ(ending_after("HTTP/1.1 200 O", After::close), Kind::cut);
  EXPECT_EQ(ending_after("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", After::close),
            Kind::cut);
  EXPECT_EQ(ending_after("SSH-2.0\r\n\r\n", After::keep), Kind::garbled);
  EXPECT_EQ(ending_after("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", After::keep),
            Kind::garbled);
  EXPECT_EQ(ending_after("HTTP/1.1 200 OK\r\n\r\nok", After::reset), Kind::cut);
  EXPECT_EQ(ending_after("HTTP/1.1 200 OK\r\n\r\nok", After::close), Kind::whole);
  EXPECT_FALSE(client_->reusable());
}

TEST_F(H1ClientTest, ReportsWhyThereIsNoConnection) {
  EXPECT_EQ(end_of(port_without_a_listener()).why, "cannot connect: Connection refused");
  EXPECT_EQ(ending_->kind, Kind::unreachable);
  EXPECT_TRUE(ending_->untouched);
  EXPECT_EQ(end_of({.host = {}, .port = 0, .path = "/nowhere/a.sock"}).why,
            "cannot connect: No such file or directory");
  EXPECT_EQ(end_of({.host = {}, .port = 0, .path = "/" + std::string(200, 'a')}).why,
            "cannot connect: the path of the socket is too long");
}

// Goal: the answer of a server that refuses connections is read although the request cannot be
// sent. Method: the server has answered and closed before the loop turns for the first time.
TEST_F(H1ClientTest, ReadsWhatARefusingServerSaidBeforeItClosed) {
  const files::ScratchDirectory directory;
  const Address address{.host = {}, .port = 0, .path = (directory.path() / "a.sock").string()};
  const Endpoint endpoint = endpoint_of(address);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(listener, static_cast<const sockaddr*>(endpoint.data()),
                   static_cast<socklen_t>(endpoint.size())),
            0);
  ASSERT_EQ(::listen(listener, 1), 0);

  ask(address);
  const int peer = ::accept(listener, nullptr, nullptr);
  const std::string refusal = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
  ASSERT_EQ(::write(peer, refusal.data(), refusal.size()), static_cast<ssize_t>(refusal.size()));
  ::close(peer);
  until([this] { return ending_.has_value(); });

  EXPECT_EQ(told_, "503 ");
  EXPECT_EQ(ending_->kind, Kind::whole);
  EXPECT_FALSE(client_->reusable());
  ::close(listener);
}

TEST_F(H1ClientTest, ReportsNothingAfterItIsClosed) {
  upstream_.play({{kAnswer}});
  ask(upstream_.address());
  client_->close();
  settle();

  EXPECT_EQ(told_, "");
  EXPECT_FALSE(ending_);
}

class FetchTest : public Stage {
 protected:
  const FetchResult& fetch(FetchRequest request) {
    if (request.target.port == 0) request.target = upstream_.address();
    request.text = kRequest;
    result_.reset();
    fetch_.emplace(io_, std::move(request), [this](const FetchResult& result) {
      result_ = result;
      if (result_->has_value() == ends_with_answer_) fetch_.reset();
    });
    until([this] { return result_.has_value(); });
    return *result_;
  }

  std::optional<Fetch> fetch_;
  std::optional<FetchResult> result_;
  bool ends_with_answer_ = true;  // the caller destroys the fetch when it is done
};

TEST_F(FetchTest, ReportsTheWholeResponse) {
  upstream_.play({{kAnswer}});
  const FetchResult& result = fetch({});

  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->head.status, 200);
  EXPECT_EQ(result->head.fields.find("content-length"), "2");
  EXPECT_EQ(result->body, "ok");
}

TEST_F(FetchTest, EndsAtItsLimits) {
  upstream_.play({{""}});
  EXPECT_EQ(fetch({.timeout = 5ms}).error().error, Error::deadline_exceeded);
  EXPECT_EQ(result_->error().why, "no answer in time");

  upstream_.play({{kAnswer}});
  EXPECT_EQ(fetch({.body_max = 1}).error().error, Error::too_large);
  EXPECT_EQ(result_->error().why, "its answer is larger than 1 bytes");
  EXPECT_TRUE(fetch({.body_max = 2}).has_value());
}

TEST_F(FetchTest, ReportsTheErrorsThatItsCallersDistinguish) {
  upstream_.play({{"", After::close}});
  EXPECT_EQ(fetch({}).error().error, Error::upstream_reset);
  upstream_.play({{"nonsense\r\n\r\n"}});
  EXPECT_EQ(fetch({}).error().error, Error::upstream_invalid);
}

TEST_F(FetchTest, OfAHeadAloneIsDoneBeforeTheBodyAndReadsIt) {
  ends_with_answer_ = false;
  upstream_.play({{"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nok"}});
  EXPECT_EQ(fetch({.head_only = true})->body, "");
  EXPECT_EQ(upstream_.ended(), 0U);

  upstream_.say("ok");
  until([this] { return upstream_.ended() == 1; });
}

// A TLS client, as its owner has one.
struct Trusted {
  TlsTrust trust;
  VerifyingTlsClient client{trust, "a", "", "http/1.1"};
};

TEST_F(FetchTest, OverTlsEndsAtAServerThatSpeaksNone) {
  const auto trusted = std::make_shared<Trusted>();
  fetch_.emplace(
      io_,
      FetchRequest{
          .target = upstream_.address(), .text = kRequest, .tls = {trusted, &trusted->client}},
      [this](const FetchResult& result) { result_ = result; });
  until([this] { return !upstream_.received().empty(); });
  EXPECT_EQ(upstream_.received().find("GET"), std::string::npos);

  upstream_.say("HTTP/1.1 400 Bad Request\r\n\r\n");
  until([this] { return result_.has_value(); });

  EXPECT_EQ(result_->error().error, Error::upstream_invalid);
  EXPECT_EQ(result_->error().why, "no TLS connection: the peer does not speak TLS");
}

TEST_F(FetchTest, MayBeDestroyedWithItsTrustInTheMiddleOfAHandshake) {
  auto trusted = std::make_shared<Trusted>();
  fetch_.emplace(
      io_,
      FetchRequest{
          .target = upstream_.address(), .text = kRequest, .tls = {trusted, &trusted->client}},
      [](const FetchResult&) { FAIL(); });
  until([this] { return !upstream_.received().empty(); });

  trusted.reset();
  fetch_.reset();
  until([this] { return upstream_.ended() == 1; });
}

TEST_F(H1ClientTest, FetchNowWaitsForTheAnswer) {
  const FetchResult result = fetch_now({.target = port_without_a_listener(), .text = kRequest});

  EXPECT_EQ(result.error().error, Error::upstream_connect);
  EXPECT_EQ(result.error().why, "cannot connect: Connection refused");
}

}  // namespace
}  // namespace sluice::net::testing
