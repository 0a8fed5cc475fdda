#include "common/http/forwarding.h"
#include "common/http/probe.h"
#include "tests/fuzz/h1_message.h"

// Goal: whatever head a client or a container sends, what we write in its place is exactly one head
// with the same framing, to every reader.
// Method: parse arbitrary bytes; rewrite what passes by each program's rules; parse that again.
namespace {

using sluice::http::Fed;
using sluice::http::Field;
using sluice::http::HeaderBlock;
using sluice::http::Known;
using sluice::http::RequestHead;
using sluice::http::RequestParser;
using sluice::http::RequestRewrite;
using sluice::http::ResponseHead;
using sluice::http::ResponseParser;

constexpr std::size_t kHeadBytesMax = 4096;
// A rewrite adds at most a few fields made from those that are there.
constexpr std::size_t kRewrittenMax = 8 * kHeadBytesMax;

bool is_hop_by_hop(Known known) {
  return known == Known::keep_alive || known == Known::proxy_connection ||
         known == Known::proxy_authenticate || known == Known::proxy_authorization;
}

template <class Head>
void check_fields(const Head& head) {
  for (std::size_t i = 0; i < head.fields.size(); ++i) {
    const Field field = head.fields.at(i);
    CHECK(!is_hop_by_hop(field.known));
    CHECK(field.value.find_first_of(std::string_view{"\r\n\0", 3}) == std::string_view::npos);
  }
}

void check_block(const HeaderBlock& block) {
  bool pseudo = true;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const HeaderBlock::Entry entry = block.at(i);
    CHECK(!entry.name.empty());
    if (entry.name.front() != ':') pseudo = false;
    CHECK(entry.name.front() != ':' || pseudo);
    for (const char c : entry.name) CHECK(c < 'A' || c > 'Z');
    for (const std::string_view forbidden :
         {"connection", "transfer-encoding", "upgrade", "keep-alive", "proxy-connection", "host"}) {
      CHECK(entry.name != forbidden);
    }
    CHECK(entry.name != "te" || entry.value == "trailers");
    CHECK(entry.value.find_first_of(std::string_view{"\r\n\0", 3}) == std::string_view::npos);
  }
}

void check_request(const RequestHead& head, const RequestRewrite& rewrite) {
  std::string written;
  write_request_head(written, head, rewrite);
  RequestParser parser{kRewrittenMax};
  RequestHead again;
  const Fed fed = parser.feed_head(written, again);
  CHECK(fed.state == Fed::State::done);
  CHECK(fed.used == written.size());
  CHECK(again.method == head.method && again.target == head.target);
  CHECK(again.framing == head.framing && again.content_length == head.content_length);
  CHECK(again.version_minor == 1);
  check_fields(again);
  HeaderBlock block;
  write_request_block(block, head, rewrite);
  check_block(block);
}

void requests(std::string_view bytes) {
  RequestParser parser{kHeadBytesMax};
  RequestHead head;
  if (parser.feed_head(bytes, head).state != Fed::State::done) return;
  RequestRewrite sidecar;
  sidecar.peer_ip = "127.0.0.1";
  sidecar.original_host = sluice::http::OriginalHost::restored;
  sidecar.derive_forwarded = true;
  sidecar.drop_kubelet_probe = true;
  check_request(head, sidecar);
  RequestRewrite probe = sidecar;
  probe.original_host = sluice::http::OriginalHost::kept;
  probe.drop_kubelet_probe = false;
  check_request(head, probe);
  RequestRewrite activator;
  activator.as_activator = true;
  activator.host = "app.default.svc";
  check_request(head, activator);
  activator.original_host = sluice::http::OriginalHost::dropped;
  check_request(head, activator);
  // A probe is recognised by its headers alone; it can always be answered.
  switch (classify_probe(head)) {
    case sluice::http::ProbeKind::health:
      CHECK(health_answer(head, false, true).status != 0);
      break;
    case sluice::http::ProbeKind::network:
      CHECK(network_answer(head, false).status != 0);
      break;
    case sluice::http::ProbeKind::none:
      break;
  }
}

void responses(std::string_view bytes) {
  ResponseParser parser{kHeadBytesMax};
  parser.reset(false);
  ResponseHead head;
  if (parser.feed_head(bytes, head).state != Fed::State::done) return;
  std::string written;
  sluice::http::ResponseRewrite rewrite;
  if (head.framing == sluice::http::Framing::until_close) {
    rewrite.body = sluice::http::ResponseBody::chunked;
  }
  write_response_head(written, head, rewrite);
  ResponseParser reader{kRewrittenMax};
  reader.reset(false);
  ResponseHead again;
  const Fed fed = reader.feed_head(written, again);
  CHECK(fed.state == Fed::State::done && fed.used == written.size());
  CHECK(again.status == head.status);
  if (head.status < 200 || head.status == 204) {
    // Neither has a body, whatever the container said of one.
    CHECK(!again.fields.has(sluice::http::Known::content_length));
  } else if (head.framing == sluice::http::Framing::until_close) {
    CHECK(again.framing == sluice::http::Framing::chunked);
  } else {
    CHECK(again.framing == head.framing && again.content_length == head.content_length);
  }
  check_fields(again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = sluice::fuzz::text_of(data, size);
  requests(bytes);
  responses(bytes);
  return 0;
}
