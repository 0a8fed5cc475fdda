#include "load/io/h2_head.h"

#include <algorithm>
#include <array>

namespace sluice::loadgen {

namespace {

// Those of a connection of HTTP/1 (RFC 9113, 8.2.2), and what has a field of its own.
constexpr std::array<std::string_view, 7> kLeftOut{
    "connection", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"};

std::string lower_case(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  });
  return out;
}

// nghttp2 takes mutable pointers and only reads through them.
nghttp2_nv field_of(std::string_view name, std::string_view value, std::uint8_t flags) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), flags};
}

// Behind :method, :scheme and :authority.
constexpr std::size_t kPathAt = 3;

constexpr std::uint8_t kLent = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;

}  // namespace

H2Head::H2Head(const TargetPlan& plan, SentAs as) {
  std::string authority = plan.target.authority;
  std::vector<std::pair<std::string, std::string>> given;
  for (const auto& [name, value] : plan.headers) {
    std::string lower = lower_case(name);
    if (lower == "host") authority = value;
    if (std::find(kLeftOut.begin(), kLeftOut.end(), lower) != kLeftOut.end()) continue;
    given.emplace_back(std::move(lower), value);
  }
  const auto has = [&given](std::string_view name) {
    return std::any_of(given.begin(), given.end(),
                       [name](const auto& header) { return header.first == name; });
  };
  const bool grpc = plan.target.protocol == Protocol::grpc;
  add(":method", std::string{method_of(plan, as)});
  add(":scheme", plan.target.tls ? "https" : "http");
  add(":authority", authority);
  if (!has("user-agent")) add("user-agent", "sluice-load");
  if (grpc) add("te", "trailers");
  if (grpc && !has("content-type")) add("content-type", "application/grpc");
  for (auto& [name, value] : given) add(std::move(name), std::move(value));
  if (!grpc && has_body(as) && !plan.body.empty()) {
    add("content-length", std::to_string(plan.body.size()));
  }
  for (const auto& [name, value] : texts_) fields_.push_back(field_of(name, value, kLent));
  fields_.insert(fields_.begin() + kPathAt, nghttp2_nv{});
  fields_.emplace_back();
}

void H2Head::add(std::string name, std::string value) {
  texts_.emplace_back(std::move(name), std::move(value));
}

std::span<const nghttp2_nv> H2Head::with(std::string_view path, std::string_view id) {
  // Copied by nghttp2: a request that is given up may wait to be sent for longer than they stay.
  fields_[kPathAt] = field_of(":path", path, NGHTTP2_NV_FLAG_NO_COPY_NAME);
  fields_.back() = field_of("x-request-id", id, NGHTTP2_NV_FLAG_NO_COPY_NAME);
  return {fields_.data(), id.empty() ? fields_.size() - 1 : fields_.size()};
}

}  // namespace sluice::loadgen
