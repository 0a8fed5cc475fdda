#include "common/http/message.h"

#include "common/http/text.h"

#include <cstring>
#include <limits>

namespace sluice::http {
namespace {

struct KnownName {
  std::string_view name;
  Known known;
};

constexpr KnownName kKnownNames[] = {
    {"accept", Known::accept},
    {"connection", Known::connection},
    {"content-length", Known::content_length},
    {"content-type", Known::content_type},
    {"date", Known::date},
    {"expect", Known::expect},
    {"forwarded", Known::forwarded},
    {"host", Known::host},
    {"idempotency-key", Known::idempotency_key},
    {"k-kubelet-probe", Known::k_kubelet_probe},
    {"k-network-hash", Known::k_network_hash},
    {"k-network-probe", Known::k_network_probe},
    {"k-original-host", Known::k_original_host},
    {"k-passthrough-lb", Known::k_passthrough_lb},
    {"k-proxy-request", Known::k_proxy_request},
    {"keep-alive", Known::keep_alive},
    {"knative-serving-default-route", Known::knative_serving_default_route},
    {"knative-serving-namespace", Known::knative_serving_namespace},
    {"knative-serving-revision", Known::knative_serving_revision},
    {"knative-serving-tag", Known::knative_serving_tag},
    {"proxy-authenticate", Known::proxy_authenticate},
    {"proxy-authorization", Known::proxy_authorization},
    {"proxy-connection", Known::proxy_connection},
    {"retry-after", Known::retry_after},
    {"sluice-edit", Known::sluice_edit},
    {"sluice-error", Known::sluice_error},
    {"te", Known::te},
    {"trailer", Known::trailer},
    {"transfer-encoding", Known::transfer_encoding},
    {"upgrade", Known::upgrade},
    {"user-agent", Known::user_agent},
    {"x-forwarded-for", Known::x_forwarded_for},
    {"x-forwarded-host", Known::x_forwarded_host},
    {"x-forwarded-proto", Known::x_forwarded_proto},
    {"x-idempotency-key", Known::x_idempotency_key},
};

constexpr std::size_t kLongestName = 29;

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

// Names sorted into one row per length: most lookups compare against one or two candidates.
struct NameRows {
  std::array<std::array<std::uint8_t, 8>, kLongestName + 1> rows{};

  constexpr NameRows() {
    for (std::size_t i = 0; i < std::size(kKnownNames); ++i) {
      auto& row = rows[kKnownNames[i].name.size()];
      std::size_t place = 0;
      while (row[place] != 0) ++place;
      row[place] = static_cast<std::uint8_t>(i + 1);
    }
  }
};

constexpr NameRows kNameRows;

}  // namespace

bool equals_ignoring_case(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (lower(left[i]) != lower(right[i])) return false;
  }
  return true;
}

Known classify(std::string_view name) {
  if (name.size() > kLongestName) return Known::other;
  for (const std::uint8_t place : kNameRows.rows[name.size()]) {
    if (place == 0) break;
    const KnownName& candidate = kKnownNames[place - 1];
    if (equals_ignoring_case(candidate.name, name)) return candidate.known;
  }
  return Known::other;
}

bool list_contains(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (equals_ignoring_case(trimmed(list.substr(0, comma)), token)) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

void FieldList::clear() {
  text_.clear();
  slots_.clear();
  first_.fill(0);
}

void FieldList::add(std::string_view name, std::string_view value, Known known) {
  if (slots_.size() >= std::numeric_limits<std::uint16_t>::max()) return;
  slots_.push_back(store(name, value, known));
  std::uint16_t& first = first_[index_of(known)];
  if (first == 0) first = static_cast<std::uint16_t>(slots_.size());
}

void FieldList::set(Known known, std::string_view name, std::string_view value) {
  const std::uint16_t first = first_[index_of(known)];
  if (first == 0) {
    add(name, value, known);
  } else {
    slots_[first - 1U] = store(name, value, known);
  }
}

// Appends the line of a field.
FieldList::Slot FieldList::store(std::string_view name, std::string_view value, Known known) {
  const std::size_t begin = text_.size();
  // Grown once and not four times: this runs for every field of every message.
  text_.resize(begin + name.size() + kColon + value.size() + kLineEnd);
  char* const line = text_.data() + begin;
  name.copy(line, name.size());
  std::memcpy(line + name.size(), ": ", kColon);
  value.copy(line + name.size() + kColon, value.size());
  std::memcpy(line + name.size() + kColon + value.size(), "\r\n", kLineEnd);
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(name.size()),
          static_cast<std::uint32_t>(value.size()), known};
}

std::string_view FieldList::get(Known known) const {
  const std::uint16_t first = first_[index_of(known)];
  return first == 0 ? std::string_view{} : at(first - 1U).value;
}

std::string_view FieldList::find(std::string_view name) const {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Field field = at(i);
    if (equals_ignoring_case(field.name, name)) return field.value;
  }
  return {};
}

void RequestHead::clear() {
  method.clear();
  target.clear();
  version_major = 1;
  version_minor = 1;
  fields.clear();
  framing = Framing::none;
  content_length = 0;
  keep_alive = true;
}

std::string_view RequestHead::path() const {
  return std::string_view{target}.substr(0, target.find('?'));
}

bool RequestHead::repeatable() const {
  if (framing == Framing::chunked || content_length > 0) return false;
  return method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "TRACE" ||
         fields.has(Known::idempotency_key) || fields.has(Known::x_idempotency_key);
}

void ResponseHead::clear() {
  status = 0;
  reason.clear();
  version_minor = 1;
  fields.clear();
  framing = Framing::none;
  content_length = 0;
  keep_alive = true;
}

}  // namespace sluice::http
