#include "common/http/forwarding.h"

#include <algorithm>
#include <charconv>
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

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
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

void append_line(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

void append_number(std::string& out, std::uint64_t number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

void append_length(std::string& out, std::uint64_t length) {
  out.append("Content-Length: ");
  append_number(out, length);
  out.append("\r\n");
}

bool wants_trailers(const FieldList& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field field = fields.at(i);
    if (field.known == Known::te && list_contains(field.value, "trailers")) return true;
  }
  return false;
}

void append_forwarded_for(std::string& out, const FieldList& fields, std::string_view peer_ip) {
  if (!fields.has(Known::x_forwarded_for) && peer_ip.empty()) return;
  out.append("X-Forwarded-For: ");
  bool first = true;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field field = fields.at(i);
    if (field.known != Known::x_forwarded_for) continue;
    if (!first) out.append(", ");
    out.append(field.value);
    first = false;
  }
  if (!peer_ip.empty()) {
    if (!first) out.append(", ");
    out.append(peer_ip);
  }
  out.append("\r\n");
}

std::string_view host_to_send(const FieldList& fields, const RequestRewrite& rewrite) {
  if (rewrite.restore_original_host) {
    if (const auto original = fields.get(Known::k_original_host); !original.empty()) {
      return original;
    }
  }
  if (!rewrite.host.empty()) return rewrite.host;
  return fields.get(Known::host);
}

// Whether a field of the request goes on unchanged; the others are dropped or written anew.
bool passes(const Field& field, const RequestRewrite& rewrite) {
  switch (field.known) {
    case Known::host:
    case Known::content_length:
    case Known::x_forwarded_for:
    case Known::knative_serving_namespace:
    case Known::knative_serving_revision:
      return false;
    case Known::k_original_host:
      // An empty one names nothing, and would hide the one that the activator adds.
      return rewrite.as_activator ? !field.value.empty()
                                  : !rewrite.restore_original_host || field.value.empty();
    case Known::k_kubelet_probe:
      return !rewrite.drop_kubelet_probe;
    case Known::k_proxy_request:
    case Known::k_network_hash:
      return !rewrite.as_activator;
    default:
      return !is_hop_by_hop(field.known);
  }
}

void append_node(std::string& out, std::string_view node) {
  out.append("for=");
  if (node.find(':') == std::string_view::npos) {
    out.append(node);
  } else {
    out.append("\"[").append(node).append("]\"");
  }
}

}  // namespace

void write_request_head(std::string& out, const RequestHead& head, const RequestRewrite& rewrite) {
  const FieldList& fields = head.fields;
  out.append(head.method).append(" ");
  out.append(rewrite.target.empty() ? std::string_view{head.target} : rewrite.target);
  out.append(" HTTP/1.1\r\n");
  append_line(out, "Host", host_to_send(fields, rewrite));
  const ConnectionNames hop_by_hop{fields};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field field = fields.at(i);
    if (!passes(field, rewrite)) continue;
    if (hop_by_hop.contains(field.name)) continue;
    append_line(out, field.name, field.value);
  }
  if (wants_trailers(fields)) append_line(out, "Te", "trailers");
  if (rewrite.derive_forwarded && fields.get(Known::forwarded).empty()) {
    const std::string forwarded =
        forwarded_from(fields.get(Known::x_forwarded_for), fields.get(Known::x_forwarded_host),
                       fields.get(Known::x_forwarded_proto));
    if (!forwarded.empty()) append_line(out, "Forwarded", forwarded);
  }
  append_forwarded_for(out, fields, rewrite.peer_ip);
  if (rewrite.as_activator) {
    append_line(out, "K-Proxy-Request", "activator");
    if (fields.get(Known::k_original_host).empty()) {
      append_line(out, "K-Original-Host", fields.get(Known::host));
    }
  }
  if (head.framing == Framing::chunked) {
    if (fields.has(Known::trailer)) append_line(out, "Trailer", fields.get(Known::trailer));
    append_line(out, "Transfer-Encoding", "chunked");
  } else if (head.framing == Framing::length) {
    append_length(out, head.content_length);
  }
  out.append("\r\n");
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
    append_line(out, field.name, field.value);
  }
  const bool final_head = head.status >= 200;
  if (final_head) {
    if (rewrite.body == ResponseBody::chunked ||
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
    out.append(rewrite.extra);
  }
  out.append("\r\n");
}

std::string forwarded_from(std::string_view x_forwarded_for, std::string_view x_forwarded_host,
                           std::string_view x_forwarded_proto) {
  std::string first;
  std::string further;
  if (!x_forwarded_for.empty()) {
    // One trailing empty node is dropped: "a," names one node, ",,," three.
    std::string_view rest = x_forwarded_for;
    if (rest.ends_with(',')) rest.remove_suffix(1);
    bool leading = true;
    while (true) {
      const std::size_t comma = rest.find(',');
      const std::string_view node = trimmed(rest.substr(0, comma));
      if (!leading) further.append(", ");
      append_node(leading ? first : further, node);
      leading = false;
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  const bool separate = !first.empty() && first != "for=";
  if (!x_forwarded_host.empty()) {
    if (separate) first.append(";");
    first.append("host=").append(x_forwarded_host);
  }
  if (!x_forwarded_proto.empty()) {
    if (!first.empty() && first != "for=") first.append(";");
    first.append("proto=").append(x_forwarded_proto);
  }
  return first + further;
}

}  // namespace sluice::http
