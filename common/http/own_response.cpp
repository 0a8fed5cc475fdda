#include "common/http/own_response.h"

#include "common/http/forwarding.h"
#include "common/http/text.h"

namespace sluice::http {
namespace {

struct Shape {
  int status;
  std::string_view cause;
  std::string_view body;
};

Shape shape_of(Error error) {
  switch (error) {
    case Error::queue_full:
      return {503, "queue-full", "pending request queue full\n"};
    case Error::queue_wait:
      return {503, "queue-wait", "context deadline exceeded\n"};
    case Error::deadline_exceeded:
      return {504, "timeout", "request timeout"};
    case Error::cannot_scale:
      return {503, "cannot-scale", "the service cannot grow now\n"};
    case Error::start_failed:
      return {503, "start-failed", "the service fails to start\n"};
    case Error::draining:
      return {503, "draining", "shutting down\n"};
    case Error::not_ready:
      return {503, "not-ready", "not ready\n"};
    case Error::no_route:
      return {404, "no-route", "no service answers to this host\n"};
    case Error::bad_request:
      return {400, "bad-request", "bad request\n"};
    case Error::too_large:
      return {431, "too-large", "request header fields too large\n"};
    case Error::upstream_connect:
      return {502, "upstream", "cannot connect to the service\n"};
    case Error::upstream_reset:
      return {502, "upstream", "EOF\n"};
    case Error::upstream_invalid:
      return {502, "upstream", "malformed HTTP response\n"};
    case Error::client_gone:
      return {499, "client-gone", ""};
    case Error::io_failed:
      return {500, "upstream", "input or output failed\n"};
    case Error::invalid_config:
      return {500, "upstream", "invalid configuration\n"};
  }
  return {500, "upstream", "error\n"};
}

std::string escaped_json(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += ' ';
    } else {
      out += c;
    }
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

// What gRPC puts into a header: visible ASCII and spaces as they are, all else percent-encoded.
std::string grpc_message(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::string out;
  for (const char c : text) {
    const auto octet = static_cast<unsigned char>(c);
    if (octet >= 0x20 && octet < 0x7f && c != '%') {
      out += c;
    } else {
      out.append({'%', kHex[octet >> 4U], kHex[octet & 15U]});
    }
  }
  return out;
}

// Lines that are added may have it already.
bool needs_no_sniff(const OwnResponse& response) {
  return response.status >= 400 &&
         response.extra.find("X-Content-Type-Options:") == std::string::npos;
}

// Which place refused, and when to come again.
void add_reason(HeaderBlock& out, const OwnResponse& response) {
  if (!response.sluice_error.empty()) out.add("sluice-error", response.sluice_error);
  if (response.retry_after_s > 0) {
    std::string seconds;
    append_number(seconds, static_cast<std::size_t>(response.retry_after_s));
    out.add("retry-after", seconds);
  }
  add_lines(out, response.extra);
}

}  // namespace

std::string_view reason_of(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "";
  }
}

OwnResponse response_for(Error error, std::string_view detail, std::string_view facts) {
  const Shape shape = shape_of(error);
  OwnResponse response;
  response.error = error;
  response.status = shape.status;
  response.body = detail.empty() ? shape.body : detail;
  response.content_type = "text/plain; charset=utf-8";
  response.sluice_error = shape.cause;
  if (!facts.empty()) response.sluice_error.append("; ").append(facts);
  if (shape.status == 503) response.retry_after_s = 1;
  response.close = error == Error::bad_request || error == Error::too_large;
  return response;
}

OwnResponse plain_response(int status, std::string body) {
  OwnResponse response;
  response.status = status;
  if (!body.empty()) response.content_type = "text/plain; charset=utf-8";
  response.body = std::move(body);
  return response;
}

OwnResponse as_problem_json(OwnResponse response) {
  if (response.sluice_error.empty()) return response;
  const std::string_view whole{response.sluice_error};
  const std::string cause{whole.substr(0, whole.find(';'))};
  std::string body = "{\"type\":\"urn:sluice:" + cause + "\",\"title\":\"";
  body.append(reason_of(response.status)).append("\",\"status\":");
  append_number(body, static_cast<std::size_t>(response.status));
  body.append(",\"detail\":\"").append(escaped_json(response.body)).append("\"}\n");
  response.body = std::move(body);
  response.content_type = "application/problem+json";
  return response;
}

void write_own_response(std::string& out, const OwnResponse& response, bool to_head,
                        bool keep_alive) {
  out.append("HTTP/1.1 ");
  append_number(out, static_cast<std::size_t>(response.status));
  out.append(" ").append(reason_of(response.status)).append("\r\n");
  if (!response.content_type.empty()) {
    out.append("Content-Type: ").append(response.content_type).append("\r\n");
  }
  if (needs_no_sniff(response)) out.append("X-Content-Type-Options: nosniff\r\n");
  if (!response.sluice_error.empty()) {
    out.append("Sluice-Error: ").append(response.sluice_error).append("\r\n");
  }
  if (response.retry_after_s > 0) {
    out.append("Retry-After: ");
    append_number(out, static_cast<std::size_t>(response.retry_after_s));
    out.append("\r\n");
  }
  out.append(response.extra);
  out.append("Content-Length: ");
  append_number(out, response.body.size());
  out.append(keep_alive ? "\r\n\r\n" : "\r\nConnection: close\r\n\r\n");
  if (!to_head) out.append(response.body);
}

void write_own_block(HeaderBlock& out, const OwnResponse& response) {
  std::string number;
  append_number(number, static_cast<std::size_t>(response.status));
  out.add(":status", number);
  if (!response.content_type.empty()) out.add("content-type", response.content_type);
  if (needs_no_sniff(response)) out.add("x-content-type-options", "nosniff");
  add_reason(out, response);
  number.clear();
  append_number(number, response.body.size());
  out.add("content-length", number);
}

void write_grpc_block(HeaderBlock& out, const OwnResponse& response) {
  std::string number;
  append_number(number, static_cast<std::size_t>(grpc_status_of(*response.error)));
  out.add(":status", "200");
  out.add("content-type", "application/grpc");
  out.add("grpc-status", number);
  out.add("grpc-message", grpc_message(response.body));
  add_reason(out, response);
}

int grpc_status_of(Error error) {
  switch (error) {
    case Error::deadline_exceeded:
      return 4;
    case Error::too_large:
      return 8;
    case Error::no_route:
      return 12;
    case Error::bad_request:
    case Error::io_failed:
    case Error::invalid_config:
      return 13;
    case Error::client_gone:
      return 1;
    case Error::queue_full:
    case Error::queue_wait:
    case Error::cannot_scale:
    case Error::start_failed:
    case Error::draining:
    case Error::not_ready:
    case Error::upstream_connect:
    case Error::upstream_reset:
    case Error::upstream_invalid:
      return 14;
  }
  return 2;
}

}  // namespace sluice::http
