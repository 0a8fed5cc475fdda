#include "activator/io/front_probes.h"

#include "common/http/probe.h"

namespace sluice::activator {
namespace {

// As Go's html.EscapeString, and in quotes as %q leaves what is printable.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        out += c;
        break;
    }
  }
  return out;
}

http::OwnResponse kubelet_answer(const http::RequestHead& head, std::string_view unready) {
  if (unready.empty() || head.path() == "/livez") return http::plain_response(200, "");
  http::OwnResponse response = http::plain_response(500, std::string{unready});
  response.sluice_error = "not-ready; at=activator";
  return response;
}

http::OwnResponse bad_probe(std::string text) {
  http::OwnResponse response = http::plain_response(400, std::move(text));
  response.sluice_error = "bad-request; at=activator";
  return response;
}

}  // namespace

std::optional<http::OwnResponse> answer_probe(const http::RequestHead& head,
                                              std::string_view unready) {
  if (http::is_kubelet_probe(head)) return kubelet_answer(head, unready);
  const std::string_view probe = head.fields.get(http::Known::k_network_probe);
  if (probe.empty()) return std::nullopt;
  if (probe == "probe") {
    // A drain does not concern it: network probes succeed to the end.
    const http::ProbeAnswer answer = http::network_answer(head, false);
    if (answer.status != 200) return bad_probe(answer.body);
    http::OwnResponse response = http::plain_response(answer.status, answer.body);
    response.extra = "K-Network-Hash: " + answer.hash + "\r\n";
    return response;
  }
  if (probe == "activator") return http::plain_response(200, "activator");
  return bad_probe("unexpected probe header value: \"" + escaped(probe) + "\"\n");
}

}  // namespace sluice::activator
