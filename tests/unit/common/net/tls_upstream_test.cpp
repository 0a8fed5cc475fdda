// TLS towards upstreams: a front server, as the activator is, in front of a pod's server, as the
// sidecar is, in front of an application.

#include "common/net/h2/h2_fetch.h"
#include "common/net/tls/tls_trust.h"
#include "tests/unit/common/net/stage.h"
#include "tests/unit/common/net/tls_peer.h"

#include <array>
#include <optional>

namespace sluice::net::testing {
namespace {

constexpr const char* kName = "data-plane.knative.dev";
constexpr const char* kUser = "kn-user-ns1";
constexpr const char* kBoth = "DNS:data-plane.knative.dev,DNS:kn-user-ns1";

const std::string kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
const std::string kHello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

// A base that comes first, since sessions need what they were made from to the last.
struct Authorities {
  Authorities() {
    const std::array bundles{authority.pem()};
    trust.replace(bundles);
  }

  TlsAuthority authority{"ours"};
  TlsAuthority stranger{"theirs"};
  TlsTrust trust;
  VerifyingTlsClient h1{trust, kName, kUser, "http/1.1"};
  VerifyingTlsClient h2{trust, kName, kUser, "h2"};
  std::unique_ptr<TlsContext> pod_context;
};

class TlsUpstreamTest : protected Authorities, public Stage {
 protected:
  TlsUpstreamTest() { upstream_.play({{kHello}}); }

  ~TlsUpstreamTest() override { io_.stop(); }

  void serve(const TlsPair& pair, TlsSettings settings = {}) {
    pod_context = *TlsContext::make(std::move(settings), pair);
    pod_gateway_.on_begin = [this](Exchange& exchange) {
      secure_ = exchange.secure();
      version_ = exchange.request().version_major;
      forward(exchange);
    };
    const auto bound = pod_.listen(*parse_address("127.0.0.1:0"), pod_context.get());
    ASSERT_TRUE(bound);
    dial(*bound);
  }

  void dial(const Address& pod) {
    pods_.push_back(
        std::make_unique<UpstreamPool>(io_, pod, UpstreamLimits{}, UpstreamTls{&h1, &h2}));
    gateway_.on_begin = [this](Exchange& exchange) { exchange.forward(*pods_.back(), {}); };
  }

  std::string answer_to(const std::string& request, const std::string& last) {
    Client client{address_};
    client.send(request);
    until_seen(client, last);
    return client.seen();
  }

  ScriptedGateway pod_gateway_;
  ProxyServer pod_{io_, clock_, pod_gateway_, stage_limits()};
  std::vector<std::unique_ptr<UpstreamPool>> pods_;
  bool secure_ = false;
  int version_ = 0;
};

TEST_F(TlsUpstreamTest, ReachesAPodWhoseCertificateListsBothNames) {
  serve(authority.issue(kBoth));

  EXPECT_TRUE(answer_to(kGet, "hello").starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(secure_);
}

TEST_F(TlsUpstreamTest, SendsManyRequestsOverOneConnection) {
  serve(authority.issue(kBoth));
  Client client{address_};
  for (int i = 0; i < 3; ++i) {
    client.send(kGet);
    until_seen(client, "hello");
    client.forget();
  }

  EXPECT_EQ(pod_.connections(), 1U);
  EXPECT_EQ(pods_.back()->idle(), 1U);
}

TEST_F(TlsUpstreamTest, RefusesAPodOfAnotherNamespace) {
  serve(authority.issue("DNS:data-plane.knative.dev,DNS:kn-user-ns2"));

  const std::string seen = answer_to(kGet, "kn-user-ns1\n");
  EXPECT_TRUE(seen.starts_with("HTTP/1.1 502 Bad Gateway\r\n"));
  ASSERT_EQ(gateway_.failures.size(), 1U);
  EXPECT_EQ(gateway_.failures[0].error, Error::upstream_connect);
  EXPECT_TRUE(gateway_.failures[0].unbegun);
  EXPECT_EQ(pod_gateway_.begun, 0);
}

TEST_F(TlsUpstreamTest, TakesNoWildcardForTheNamespace) {
  serve(authority.issue("DNS:data-plane.knative.dev,DNS:*"));

  EXPECT_NE(answer_to(kGet, "\n").find(" 502 "), std::string::npos);
}

TEST_F(TlsUpstreamTest, RefusesAPodThatIsNotADataPlane) {
  serve(authority.issue("DNS:kn-user-ns1"));

  EXPECT_NE(answer_to(kGet, "requested name\n").find(" 502 "), std::string::npos);
}

TEST_F(TlsUpstreamTest, RefusesACertificateOfAnotherAuthority) {
  serve(stranger.issue(kBoth));

  EXPECT_NE(answer_to(kGet, "issuer certificate\n").find(" 502 "), std::string::npos);
}

TEST_F(TlsUpstreamTest, RefusesTls12) {
  TlsSettings old;
  old.min = old.max = TlsVersion::v1_2;
  serve(authority.issue(kBoth), old);

  EXPECT_NE(answer_to(kGet, "\n").find(" 502 "), std::string::npos);
  EXPECT_EQ(pod_gateway_.begun, 0);
}

TEST_F(TlsUpstreamTest, ReportsThatThePodDoesNotUseTls) {
  dial(*pod_.listen(*parse_address("127.0.0.1:0")));

  EXPECT_NE(answer_to(kGet, "does not speak TLS\n").find(" 502 "), std::string::npos);
}

TEST_F(TlsUpstreamTest, ReportsThatThePodClosesInTheHandshake) {
  Listener rude{io_, [](Socket socket) { socket.close(); }};
  dial(*rude.open(*parse_address("127.0.0.1:0")));

  EXPECT_NE(answer_to(kGet, "\n").find(" 502 "), std::string::npos);
}

TEST_F(TlsUpstreamTest, ChangedTrustAppliesToTheNextConnection) {
  serve(authority.issue(kBoth));
  Client client{address_};
  client.send(kGet);
  until_seen(client, "hello");
  client.forget();
  const std::array bundles{stranger.pem()};
  ASSERT_TRUE(trust.replace(bundles).empty());
  client.send(kGet);
  until_seen(client, "hello");

  dial(pods_.back()->target());
  EXPECT_NE(answer_to(kGet, "\n").find(" 502 "), std::string::npos);
}

TEST_F(TlsUpstreamTest, CarriesLargeBodiesBothWays) {
  constexpr std::size_t kBytes = 1'000'000;
  serve(authority.issue(kBoth));
  upstream_.play({{"HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kBytes) + "\r\n\r\n" +
                   std::string(kBytes, 'r')}});
  Client client{address_};
  const std::string post =
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(kBytes) + "\r\n\r\n" +
      std::string(kBytes, 'q');
  std::size_t sent = 0;
  until([&] {
    sent += client.send(std::string_view{post}.substr(sent));
    client.take();
    return client.seen().size() > kBytes;
  });

  EXPECT_EQ(sent, post.size());
  EXPECT_EQ(std::count(upstream_.received().begin(), upstream_.received().end(), 'q'),
            static_cast<std::ptrdiff_t>(kBytes));
  expect_quiet();
}

TEST_F(TlsUpstreamTest, CarriesATunnelAndItsEnds) {
  serve(authority.issue(kBoth));
  upstream_.play(
      {{"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\n\r\nabc"}});
  Client client{address_};
  client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  until_seen(client, "abc");
  client.send("from the client");
  until([this] { return upstream_.received().ends_with("from the client"); });
  upstream_.say("from the service");
  until_seen(client, "from the service");
  client.finish_sending();
  until([this] { return upstream_.ended() == 1; });
  upstream_.finish_sending();

  until_closed(client);
  expect_quiet();
}

TEST_F(TlsUpstreamTest, ClosesWebSocketsOfItsClientsAndItsPod) {
  serve(authority.issue(kBoth));
  upstream_.play(
      {{"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\n\r\n"}});
  Client client{address_};
  client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  until_seen(client, "\r\n\r\n");
  until([this] { return pod_gateway_.begun == 1; });
  pod_.close_tunnels();     // the pod drains
  server_.close_tunnels();  // and so does the front
  until_seen(client, "\x88");
  const std::string frame = client.seen().substr(client.seen().find("\r\n\r\n") + 4);

  EXPECT_EQ(frame.find('\x88'), frame.rfind('\x88'));  // one Close, not two
}

std::optional<H2FetchResponse> fetched(boost::asio::io_context& io, const Address& from,
                                       const std::function<void(std::function<bool()>)>& until) {
  std::optional<Result<H2FetchResponse>> result;
  H2FetchRequest request;
  request.target = from;
  request.authority = "h";
  const H2Fetch fetch{io, request,
                      [&](const Result<H2FetchResponse>& got) { result.emplace(got); }};
  until([&] { return result.has_value(); });
  if (!result || !*result) return std::nullopt;
  return **result;
}

TEST_F(TlsUpstreamTest, UsesHttp2WithAPodThatOffersIt) {
  serve(authority.issue(kBoth));
  pod_gateway_.on_begin = [this](Exchange& exchange) {
    secure_ = exchange.secure();
    version_ = exchange.request().version_major;
    exchange.respond(http::plain_response(200, "pod"));
  };
  const auto response =
      fetched(io_, address_, [this](const std::function<bool()>& done) { until(done); });

  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "pod");
  EXPECT_TRUE(secure_);
  EXPECT_EQ(version_, 2);
}

TEST_F(TlsUpstreamTest, ReportsThatAPodOffersNoHttp2) {
  TlsSettings plain;
  plain.protocols = {"http/1.1"};
  serve(authority.issue(kBoth), plain);
  const auto response =
      fetched(io_, address_, [this](const std::function<bool()>& done) { until(done); });

  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 502);
  ASSERT_EQ(gateway_.failures.size(), 1U);
  EXPECT_TRUE(gateway_.failures[0].unbegun);
}

TEST(TlsTrust, SkipsBundlesWithoutACertificate) {
  const TlsAuthority authority{"a"};
  TlsTrust trust;
  const std::array<std::string, 4> bundles{authority.pem(), "no PEM at all", "",
                                           authority.pem() +
                                               "-----BEGIN CERTIFICATE-----\nAAAA\n"
                                               "-----END CERTIFICATE-----\n"};
  const std::vector<Problem> problems = trust.replace(bundles);

  EXPECT_EQ(trust.size(), 1U);
  EXPECT_EQ(problems.size(), 3U);
}

}  // namespace
}  // namespace sluice::net::testing
