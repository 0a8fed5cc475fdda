#include "common/http/forwarding.h"

#include "common/http/head_check.h"
#include "common/http/text.h"

#include <algorithm>
#include <array>
#include <vector>

namespace sluice::http {
namespace {

bool is_hop_by_hop(Known known) {
  switch (known) {
    case Known::connection:
    case Known::proxy_connection:
    case Known::keep_alive:
    case Known::proxy_authenticate:
    case Known::proxy_authorization:
    case Known::te:
    case Known::trailer:
    case Known::transfer_encoding:
    case Known::upgrade:
      return true;
    default:
      return false;
  }
}

std::string lowered(std::string_view text) {
  std::string out{text};
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

// The names that Connection makes hop-by-hop. Most messages name none but keep-alive and close and
// allocate nothing here; a hostile one may name thousands, so they are looked up and not searched.
class ConnectionNames {
 public:
  explicit ConnectionNames(const FieldList& fields) {
    if (!fields.has(Known::connection)) return;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const Field field = fields.at(i);
      if (field.known == Known::connection) take(field.value);
    }
    std::sort(names_.begin(), names_.end());
  }

  [[nodiscard]] bool contains(std::string_view name) const {
    return !names_.empty() && std::binary_search(names_.begin(), names_.end(), lowered(name));
  }

 private:
  void take(std::string_view list) {
    while (true) {
      const std::size_t comma = list.find(',');
      const std::string_view name = trimmed(list.substr(0, comma));
      if (!name.empty() && !equals_ignoring_case(name, "keep-alive") &&
          !equals_ignoring_case(name, "close")) {
        names_.push_back(lowered(name));
      }
      if (comma == std::string_view::npos) return;
      list.remove_prefix(comma + 1);
    }
  }

  std::vector<std::string> names_;
};

// Header fields as the lines of HTTP/1; HeaderBlock has the same face for HTTP/2.
class HeaderLines {
 public:
  explicit HeaderLines(std::string& out) : out_{out} {}

  void add(std::string_view name, std::string_view value) {
    out_.append(name).append(": ").append(value).append("\r\n");
  }

  void add(const Field& field) { out_.append(field.line); }

  void begin(std::string_view name) { out_.append(name).append(": "); }

  void append(std::string_view part) { out_.append(part); }

  void end() { out_.append("\r\n"); }

 private:
  std::string& out_;  // the caller's
};

void append_line(std::string& out, std::string_view name, std::string_view value) {
  HeaderLines{out}.add(name, value);
}

void append_length(std::string& out, std::uint64_t length) {
  out.append("Content-Length: ");
  append_number(out, length);
  out.append("\r\n");
}

bool any_line_contains(const FieldList& fields, Known known, std::string_view token) {
  if (!fields.has(known)) return false;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields.known_at(i) == known && list_contains(fields.at(i).value, token)) return true;
  }
  return false;
}

template <class Sink>
void add_forwarded_for(Sink& sink, const FieldList& fields, std::string_view peer_ip) {
  if (!fields.has(Known::x_forwarded_for) && peer_ip.empty()) return;
  sink.begin("X-Forwarded-For");
  bool first = true;
  const auto node = [&sink, &first](std::string_view text) {
    if (!first) sink.append(", ");
    sink.append(text);
    first = false;
  };
  for (std::size_t i = 0; i < fields.size() && fields.has(Known::x_forwarded_for); ++i) {
    if (fields.known_at(i) == Known::x_forwarded_for) node(fields.at(i).value);
  }
  if (!peer_ip.empty()) node(peer_ip);
  sink.end();
}

std::string_view host_to_send(const FieldList& fields, const RequestRewrite& rewrite) {
  if (rewrite.original_host == OriginalHost::restored) {
    const auto original = fields.get(Known::k_original_host);
    if (!original.empty() && is_host(original)) return original;
  }
  if (!rewrite.host.empty()) return rewrite.host;
  const auto host = fields.get(Known::host);
  return host.empty() ? rewrite.address : host;
}

// Whether a field of the request is forwarded unchanged; the others are dropped or rewritten.
bool passes(const Field& field, const RequestRewrite& rewrite) {
  switch (field.known) {
    case Known::host:
    case Known::content_length:
    case Known::x_forwarded_for:
    case Known::knative_serving_namespace:
    case Known::knative_serving_revision:
      return false;
    case Known::k_original_host:
      return !rewrite.as_activator && rewrite.original_host == OriginalHost::kept;
    case Known::forwarded:
      return !rewrite.derive_forwarded || !field.value.empty();
    case Known::k_kubelet_probe:
      return !rewrite.drop_kubelet_probe;
    case Known::k_proxy_request:
    case Known::k_network_hash:
    case Known::sluice_edit:
      return !rewrite.as_activator;
    case Known::k_passthrough_lb:
      return !rewrite.passthrough_lb;
    default:
      return !is_hop_by_hop(field.known);
  }
}

template <class Sink>
void append_node(Sink& sink, std::string_view node) {
  sink.append("for=");
  if (node.find(':') == std::string_view::npos) {
    sink.append(node);
  } else {
    sink.append("\"[");
    sink.append(node);
    sink.append("]\"");
  }
}

// The elders of Forwarded: the first line of each X-Forwarded-* field.
struct ForwardedElders {
  std::string_view nodes;  // X-Forwarded-For
  std::string_view host;
  std::string_view proto;

  [[nodiscard]] bool none() const { return nodes.empty() && host.empty() && proto.empty(); }
};

// The first node carries host and proto, whatever further nodes there are.
template <class Sink>
void append_forwarded(Sink& sink, const ForwardedElders& elders) {
  std::string_view rest = elders.nodes;
  // One trailing empty node is dropped: "a," names one node, ",,," three.
  if (rest.ends_with(',')) rest.remove_suffix(1);
  std::size_t comma = rest.find(',');
  const std::string_view first = trimmed(rest.substr(0, comma));
  if (!elders.nodes.empty()) append_node(sink, first);
  bool separate = !first.empty();
  if (!elders.host.empty()) {
    sink.append(separate ? ";host=" : "host=");
    sink.append(elders.host);
    separate = true;
  }
  if (!elders.proto.empty()) {
    sink.append(separate ? ";proto=" : "proto=");
    sink.append(elders.proto);
  }
  while (comma != std::string_view::npos) {
    rest.remove_prefix(comma + 1);
    comma = rest.find(',');
    sink.append(", ");
    append_node(sink, trimmed(rest.substr(0, comma)));
  }
}

void add_field(HeaderLines& lines, const Field& field) {
  lines.add(field);
}

void add_field(HeaderBlock& block, const Field& field) {
  block.add(field.name, field.value);
}

void add_lines(HeaderLines& out, std::string_view lines) {
  out.append(lines);
}

template <class Sink>
void add_chosen_fields(Sink& sink, const FieldList& fields, const RequestRewrite& rewrite) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field field = fields.at(i);
    const bool chosen =
        std::any_of(rewrite.only.begin(), rewrite.only.end(),
                    [&](std::string_view name) { return equals_ignoring_case(name, field.name); });
    if (chosen) add_field(sink, field);
  }
  add_lines(sink, rewrite.more);
}

// Every field but Host and those that frame the body.
template <class Sink>
void add_request_fields(Sink& sink, const RequestHead& head, const RequestRewrite& rewrite) {
  const FieldList& fields = head.fields;
  if (!rewrite.only.empty()) return add_chosen_fields(sink, fields, rewrite);
  const ConnectionNames hop_by_hop{fields};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field field = fields.at(i);
    if (!passes(field, rewrite)) continue;
    if (hop_by_hop.contains(field.name)) continue;
    add_field(sink, field);
  }
  if (any_line_contains(fields, Known::te, "trailers")) sink.add("Te", "trailers");
  if (!rewrite.proto.empty() && !fields.has(Known::x_forwarded_proto)) {
    sink.add("X-Forwarded-Proto", rewrite.proto);
  }
  if (rewrite.derive_forwarded && fields.get(Known::forwarded).empty()) {
    const ForwardedElders elders{fields.get(Known::x_forwarded_for),
                                 fields.get(Known::x_forwarded_host),
                                 fields.get(Known::x_forwarded_proto)};
    if (!elders.none()) {
      sink.begin("Forwarded");
      append_forwarded(sink, elders);
      sink.end();
    }
  }
  add_forwarded_for(sink, fields, rewrite.peer_ip);
  if (rewrite.passthrough_lb) sink.add("K-Passthrough-Lb", "true");
  if (rewrite.as_activator) {
    sink.add("K-Proxy-Request", "activator");
    // A client that names it in Connection takes its own away, not ours: the pod would be left with
    // the name it is addressed by.
    constexpr std::string_view kName = "K-Original-Host";
    const bool kept = rewrite.original_host == OriginalHost::kept && !hop_by_hop.contains(kName);
    const auto original = kept ? fields.get(Known::k_original_host) : std::string_view{};
    const auto host = original.empty() ? fields.get(Known::host) : original;
    if (!host.empty()) sink.add(kName, host);
  }
}

void append_upgrade(std::string& out, std::string_view protocol) {
  append_line(out, "Connection", "Upgrade");
  append_line(out, "Upgrade", protocol);
}

}  // namespace

std::string_view asked_protocol(const RequestHead& head) {
  const FieldList& fields = head.fields;
  if (!fields.has(Known::upgrade) || head.version_major != 1 || head.version_minor != 1) return {};
  if (!any_line_contains(fields, Known::connection, "upgrade")) return {};
  const std::string_view asked = fields.get(Known::upgrade);
  return list_contains(asked, "h2c") ? std::string_view{} : asked;
}

bool switches_as_asked(const ResponseHead& head, std::string_view asked) {
  const std::string_view chosen = head.fields.get(Known::upgrade);
  if (asked.empty() || chosen.empty()) return false;
  return equals_ignoring_case(chosen, asked) || list_contains(asked, chosen);
}

void write_request_head(std::string& out, const RequestHead& head, const RequestRewrite& rewrite) {
  const FieldList& fields = head.fields;
  out.append(head.method).append(" ");
  out.append(rewrite.target.empty() ? std::string_view{head.target} : rewrite.target);
  out.append(" HTTP/1.1\r\n");
  append_line(out, "Host", host_to_send(fields, rewrite));
  HeaderLines lines{out};
  add_request_fields(lines, head, rewrite);
  if (const auto protocol = asked_protocol(head); !protocol.empty()) append_upgrade(out, protocol);
  if (head.framing == Framing::chunked) {
    if (fields.has(Known::trailer)) append_line(out, "Trailer", fields.get(Known::trailer));
    append_line(out, "Transfer-Encoding", "chunked");
  } else if (head.framing == Framing::length) {
    append_length(out, head.content_length);
  }
  out.append("\r\n");
}

void write_request_block(HeaderBlock& out, const RequestHead& head, const RequestRewrite& rewrite) {
  out.add(":method", head.method);
  out.add(":scheme", "http");
  out.add(":path", rewrite.target.empty() ? std::string_view{head.target} : rewrite.target);
  if (const auto host = host_to_send(head.fields, rewrite); !host.empty()) {
    out.add(":authority", host);
  }
  add_request_fields(out, head, rewrite);
  if (head.fields.has(Known::trailer)) out.add("trailer", head.fields.get(Known::trailer));
  if (head.framing == Framing::length) {
    out.add("content-length", head.fields.get(Known::content_length));
  }
}

void write_response_head(std::string& out, const ResponseHead& head,
                         const ResponseRewrite& rewrite) {
  const FieldList& fields = head.fields;
  out.append("HTTP/1.1 ");
  append_number(out, static_cast<std::uint64_t>(head.status));
  out.append(" ").append(head.reason).append("\r\n");
  const ConnectionNames hop_by_hop{fields};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field field = fields.at(i);
    if (is_hop_by_hop(field.known) || field.known == Known::content_length) continue;
    if (hop_by_hop.contains(field.name)) continue;
    out.append(field.line);
  }
  const bool final_head = head.status >= 200;
  if (head.status == 101) append_upgrade(out, fields.get(Known::upgrade));
  if (final_head) {
    if (head.status == 204) {
      // Has no body and may not speak of one (RFC 9110 section 8.6, RFC 9112 section 6.1).
    } else if (rewrite.body == ResponseBody::chunked ||
               (head.framing == Framing::chunked && rewrite.body == ResponseBody::as_is)) {
      if (fields.has(Known::trailer)) append_line(out, "Trailer", fields.get(Known::trailer));
      append_line(out, "Transfer-Encoding", "chunked");
    } else if (head.framing == Framing::length) {
      append_length(out, head.content_length);
    }
    if (!rewrite.keep_alive) {
      append_line(out, "Connection", "close");
    } else if (rewrite.client_minor == 0) {
      append_line(out, "Connection", "keep-alive");
    }
  }
  if (final_head || head.status == 101) out.append(rewrite.extra);
  out.append("\r\n");
}

void write_response_block(HeaderBlock& out, const ResponseHead& head, std::string_view extra) {
  out.begin(":status");
  const std::array<char, 3> digits{static_cast<char>('0' + head.status / 100 % 10),
                                   static_cast<char>('0' + head.status / 10 % 10),
                                   static_cast<char>('0' + head.status % 10)};
  out.append({digits.data(), digits.size()});
  const FieldList& fields = head.fields;
  const ConnectionNames hop_by_hop{fields};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field field = fields.at(i);
    if (is_hop_by_hop(field.known) && field.known != Known::trailer) continue;
    if (hop_by_hop.contains(field.name)) continue;
    out.add(field.name, field.value);
  }
  add_lines(out, extra);
}

void add_lines(HeaderBlock& out, std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t end = lines.find("\r\n");
    const std::string_view line = lines.substr(0, end);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos) {
      out.add(line.substr(0, colon), trimmed(line.substr(colon + 1)));
    }
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 2);
  }
}

}  // namespace sluice::http
