// Header rules of queue-proxy.md 5 and rows 18 to 31 and 48 of its section 13.

#include "common/http/forwarding.h"

#include "common/net/h1/h1_codec.h"

#include <gtest/gtest.h>

#include <array>

namespace sluice::http {
namespace {

RequestHead request(const std::string& fields, const std::string& start = "GET /a?b HTTP/1.1") {
  RequestParser parser{64 * 1024};
  RequestHead head;
  const Fed fed = parser.feed_head(start + "\r\nHost: x\r\n" + fields + "\r\n", head);
  EXPECT_EQ(fed.state, Fed::State::done) << fields;
  return head;
}

std::string rewritten(const std::string& fields, const RequestRewrite& rewrite) {
  std::string out;
  write_request_head(out, request(fields), rewrite);
  return out;
}

RequestRewrite sidecar() {
  RequestRewrite rewrite;
  rewrite.original_host = OriginalHost::restored;
  rewrite.derive_forwarded = true;
  rewrite.drop_kubelet_probe = true;
  return rewrite;
}

RequestRewrite activator() {
  RequestRewrite rewrite;
  rewrite.host = "pod-1";
  rewrite.as_activator = true;
  return rewrite;
}

std::string response(const std::string& bytes, const ResponseRewrite& rewrite) {
  ResponseParser parser{64 * 1024};
  ResponseHead head;
  EXPECT_EQ(parser.feed_head(bytes, head).state, Fed::State::done) << bytes;
  std::string out;
  write_response_head(out, head, rewrite);
  return out;
}

TEST(Forwarding, PassesTargetAndOrdinaryFieldsUnchanged) {
  EXPECT_EQ(rewritten("X-A: 1\r\nx-a:  2 \r\nK-Passthrough-Lb: true\r\n", {}),
            "GET /a?b HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nx-a: 2\r\nK-Passthrough-Lb: true\r\n\r\n");
}

TEST(Forwarding, RestoresTheOriginalHost) {
  EXPECT_EQ(rewritten("K-Original-Host: a.b\r\n", sidecar()),
            "GET /a?b HTTP/1.1\r\nHost: a.b\r\n\r\n");
}

TEST(Forwarding, KeepsTheOriginalHostOfAKubeletProbe) {
  EXPECT_EQ(rewritten("K-Original-Host: a.b\r\nK-Kubelet-Probe: x\r\n", {}),
            "GET /a?b HTTP/1.1\r\nHost: x\r\nK-Original-Host: a.b\r\nK-Kubelet-Probe: x\r\n\r\n");
}

TEST(Forwarding, DropsAKubeletProbeMarkFromElsewhere) {
  EXPECT_EQ(rewritten("K-Kubelet-Probe: x\r\n", sidecar()), "GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n");
}

TEST(Forwarding, KeepsTheActivatorsMarkAndDropsRevisionAndNamespace) {
  EXPECT_EQ(rewritten("Knative-Serving-Revision: r\r\nKnative-Serving-Namespace: n\r\n"
                      "K-Proxy-Request: activator\r\n",
                      sidecar()),
            "GET /a?b HTTP/1.1\r\nHost: x\r\nK-Proxy-Request: activator\r\n\r\n");
}

TEST(Forwarding, InventsNoUserAgent) {
  EXPECT_EQ(rewritten("", sidecar()).find("User-Agent"), std::string::npos);
}

TEST(Forwarding, AppendsThePeerToForwardedFor) {
  RequestRewrite rewrite;
  rewrite.peer_ip = "127.0.0.1";

  EXPECT_EQ(rewritten("X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: ::1\r\n", rewrite),
            "GET /a?b HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 1.2.3.4, ::1, 127.0.0.1\r\n\r\n");
  EXPECT_EQ(rewritten("", rewrite),
            "GET /a?b HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 127.0.0.1\r\n\r\n");
}

TEST(Forwarding, DerivesForwardedBeforeThePeerIsAppended) {
  RequestRewrite rewrite = sidecar();
  rewrite.peer_ip = "9.9.9.9";

  const std::string head = rewritten("X-Forwarded-For: 1.2.3.4\r\n", rewrite);

  EXPECT_NE(head.find("\r\nForwarded: for=1.2.3.4\r\n"), std::string::npos) << head;
}

TEST(Forwarding, LeavesForwardedAlone) {
  const std::string head = rewritten("Forwarded: for=a\r\nX-Forwarded-Proto: p\r\n", sidecar());

  EXPECT_EQ(head,
            "GET /a?b HTTP/1.1\r\nHost: x\r\nForwarded: for=a\r\nX-Forwarded-Proto: p\r\n\r\n");
}

TEST(Forwarding, DropsHopByHopFieldsAndThoseConnectionNames) {
  EXPECT_EQ(rewritten("Connection: close, X-Foo\r\nX-Foo: 1\r\nKeep-Alive: 5\r\n"
                      "Proxy-Connection: x\r\nProxy-Authenticate: x\r\nProxy-Authorization: x\r\n"
                      "Upgrade: websocket\r\nConnection: x-bar\r\nX-Bar: 2\r\nX-Baz: 3\r\n",
                      {}),
            "GET /a?b HTTP/1.1\r\nHost: x\r\nX-Baz: 3\r\n\r\n");
}

TEST(Forwarding, KeepsOnlyTrailersInTe) {
  EXPECT_EQ(rewritten("TE: gzip, trailers\r\n", {}),
            "GET /a?b HTTP/1.1\r\nHost: x\r\nTe: trailers\r\n\r\n");
  EXPECT_EQ(rewritten("TE: gzip\r\n", {}), "GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n");
}

TEST(Forwarding, KeepsTheBodysFraming) {
  std::string out;
  write_request_head(
      out, request("Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n", "POST / HTTP/1.1"), {});
  write_request_head(out, request("Content-Length: 7\r\n", "POST / HTTP/1.1"), {});

  EXPECT_EQ(out,
            "POST / HTTP/1.1\r\nHost: x\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n"
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n");
}

TEST(Forwarding, CannotLoseFramingOrHostToAConnectionField) {
  EXPECT_EQ(rewritten("Connection: host, content-length\r\nContent-Length: 3\r\n", {}),
            "GET /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n");
}

TEST(Forwarding, MarksRequestsOfTheActivator) {
  EXPECT_EQ(rewritten("K-Proxy-Request: forged\r\nK-Network-Hash: h\r\nK-Original-Host:\r\n"
                      "sluice-edit: token\r\nSluice-Edit: token\r\n",
                      activator()),
            "GET /a?b HTTP/1.1\r\nHost: pod-1\r\nK-Proxy-Request: activator\r\n"
            "K-Original-Host: x\r\n\r\n");
}

// activator.md 12, row 15.
TEST(Forwarding, DirectsAMeshToThatPod) {
  RequestRewrite rewrite = activator();
  rewrite.host = "real-name-private.real-namespace";
  rewrite.passthrough_lb = true;

  EXPECT_EQ(rewritten("K-Passthrough-Lb: forged\r\n", rewrite),
            "GET /a?b HTTP/1.1\r\nHost: real-name-private.real-namespace\r\n"
            "K-Passthrough-Lb: true\r\nK-Proxy-Request: activator\r\nK-Original-Host: x\r\n\r\n");
}

TEST(Forwarding, KeepsAnOriginalHostThatIsThere) {
  EXPECT_EQ(rewritten("K-Original-Host: a.b\r\n", activator()),
            "GET /a?b HTTP/1.1\r\nHost: pod-1\r\nK-Proxy-Request: activator\r\n"
            "K-Original-Host: a.b\r\n\r\n");
}

TEST(Forwarding, SendsOneOriginalHostWhateverTheClientSends) {
  const std::string own =
      "GET /a?b HTTP/1.1\r\nHost: pod-1\r\nK-Proxy-Request: activator\r\nK-Original-Host: "
      "x\r\n\r\n";
  EXPECT_EQ(rewritten("K-Original-Host:\r\nK-Original-Host: a.b\r\n", activator()), own);
  EXPECT_EQ(rewritten("Connection: K-Original-Host\r\nK-Original-Host: a.b\r\n", activator()), own);
  EXPECT_EQ(rewritten("Connection: k-original-host\r\n", activator()), own);

  RequestRewrite door = activator();
  door.original_host = OriginalHost::dropped;
  EXPECT_EQ(rewritten("K-Original-Host: a.b\r\n", door), own);
  EXPECT_EQ(rewritten("Connection: K-Original-Host\r\nK-Original-Host: a.b\r\n", door), own);
}

TEST(Forwarding, DropsAnOriginalHostThatIsNotTrusted) {
  RequestRewrite rewrite = sidecar();
  rewrite.original_host = OriginalHost::dropped;
  EXPECT_EQ(rewritten("K-Original-Host: a.b\r\n", rewrite), "GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n");
}

TEST(Forwarding, NamesTheAddressWhereTheClientNamesNoHost) {
  RequestParser parser{64 * 1024};
  RequestHead head;
  ASSERT_EQ(parser.feed_head("GET / HTTP/1.0\r\n\r\n", head).state, Fed::State::done);
  RequestRewrite rewrite = sidecar();
  rewrite.address = "127.0.0.1:8080";
  std::string out;
  write_request_head(out, head, rewrite);
  EXPECT_EQ(out, "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n");

  rewrite.address = "127.0.0.1:8080";
  EXPECT_EQ(rewritten("", rewrite), "GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n");
}

// An activator invents no original host either: the pod has an address to fall back to itself.
TEST(Forwarding, SavesNoHostWhereThereIsNone) {
  RequestParser parser{64 * 1024};
  RequestHead head;
  ASSERT_EQ(parser.feed_head("GET / HTTP/1.0\r\n\r\n", head).state, Fed::State::done);
  std::string out;
  write_request_head(out, head, activator());
  EXPECT_EQ(out, "GET / HTTP/1.1\r\nHost: pod-1\r\nK-Proxy-Request: activator\r\n\r\n");
}

TEST(Forwarding, StaysQuickWithManyFieldsAndManyConnectionTokens) {
  std::string fields = "Connection: a";
  for (int i = 0; i < 20'000; ++i) fields += ",t" + std::to_string(i);
  fields += "\r\n";
  for (int i = 0; i < 20'000; ++i) fields += "T" + std::to_string(i) + ": \r\n";
  RequestParser parser{4 << 20, 30'000};
  RequestHead head;
  ASSERT_EQ(parser.feed_head("GET / HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n", head).state,
            Fed::State::done);

  std::string out;
  write_request_head(out, head, {});

  EXPECT_EQ(out, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
}

// The value of the field Forwarded that is derived from the first X-Forwarded-* of each kind.
std::string forwarded_from(const std::string& nodes, const std::string& host,
                           const std::string& proto) {
  std::string fields;
  if (!nodes.empty()) fields += "X-Forwarded-For: " + nodes + "\r\n";
  if (!host.empty()) fields += "X-Forwarded-Host: " + host + "\r\n";
  if (!proto.empty()) fields += "X-Forwarded-Proto: " + proto + "\r\n";
  const std::string head = rewritten(fields, sidecar());
  const std::string name = "\r\nForwarded: ";
  const std::size_t begin = head.find(name);
  if (begin == std::string::npos) return "";
  const std::size_t value = begin + name.size();
  return head.substr(value, head.find("\r\n", value) - value);
}

TEST(ForwardedFrom, MatchesTheReference) {
  EXPECT_EQ(forwarded_from("127.0.0.1, ::1", "h", "p"),
            "for=127.0.0.1;host=h;proto=p, for=\"[::1]\"");
  EXPECT_EQ(forwarded_from("", "h", "p"), "host=h;proto=p");
  EXPECT_EQ(forwarded_from(",,,", "", ""), "for=, for=, for=");
  EXPECT_EQ(forwarded_from("a,", "", ""), "for=a");
  EXPECT_EQ(forwarded_from(",b", "h", ""), "for=host=h, for=b");
  EXPECT_EQ(forwarded_from("1.2.3.4:80", "", ""), "for=\"[1.2.3.4:80]\"");
  EXPECT_EQ(forwarded_from("", "", ""), "");
}

TEST(RequestForwarding, ToAHopWithCredentialsOfOursOnlyChosenFieldsPass) {
  const std::array<std::string_view, 2> only{"Accept", "If-None-Match"};
  RequestRewrite rewrite;
  rewrite.host = "api.example";
  rewrite.target = "/below/a?b";
  rewrite.only = only;
  rewrite.more = "Authorization: Bearer ours\r\n";

  const std::string fields =
      "accept: text/html\r\nCookie: a=b\r\nAuthorization: Basic x\r\nImpersonate-User: root\r\n"
      "X-Forwarded-For: 10.0.0.1\r\nX-Remote-User: root\r\nTe: trailers\r\n"
      "If-None-Match: \"1\"\r\nConnection: If-None-Match\r\n";

  EXPECT_EQ(rewritten(fields, rewrite),
            "GET /below/a?b HTTP/1.1\r\nHost: api.example\r\naccept: text/html\r\n"
            "If-None-Match: \"1\"\r\nAuthorization: Bearer ours\r\n\r\n");
}

TEST(ResponseForwarding, DropsHopByHopFieldsAndAddsNothing) {
  EXPECT_EQ(response("HTTP/1.1 200 Fine\r\nX-A: 1\r\nConnection: X-B\r\nX-B: 2\r\n"
                     "Keep-Alive: 5\r\nContent-Length: 3\r\n\r\n",
                     {}),
            "HTTP/1.1 200 Fine\r\nX-A: 1\r\nContent-Length: 3\r\n\r\n");
}

TEST(ResponseForwarding, ReportsWhetherTheConnectionStaysOpen) {
  const std::string plain = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  ResponseRewrite closing;
  closing.keep_alive = false;
  ResponseRewrite old;
  old.client_minor = 0;

  EXPECT_TRUE(response(plain, closing).ends_with("Connection: close\r\n\r\n"));
  EXPECT_TRUE(response(plain, old).ends_with("Connection: keep-alive\r\n\r\n"));
}

TEST(ResponseForwarding, ReframesABodyThatEndsWithItsConnection) {
  ResponseRewrite chunked;
  chunked.body = ResponseBody::chunked;
  ResponseRewrite to_close;
  to_close.body = ResponseBody::to_close;
  to_close.keep_alive = false;

  EXPECT_EQ(response("HTTP/1.1 200 OK\r\n\r\n", chunked),
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", to_close),
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
}

TEST(ResponseForwarding, PassesAnInterimHeadWithItsFieldsOnly) {
  EXPECT_EQ(response("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", {}),
            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
}

}  // namespace
}  // namespace sluice::http
