#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::http {

/// Header names that some rule of ours looks at; every other name is `other`.
enum class Known : std::uint8_t {
  other,
  accept,
  connection,
  content_length,
  content_type,
  date,
  expect,
  forwarded,
  host,
  idempotency_key,
  k_kubelet_probe,
  k_network_hash,
  k_network_probe,
  k_original_host,
  k_passthrough_lb,
  k_proxy_request,
  keep_alive,
  knative_serving_default_route,
  knative_serving_namespace,
  knative_serving_revision,
  knative_serving_tag,
  proxy_authenticate,
  proxy_authorization,
  proxy_connection,
  retry_after,
  sluice_edit,
  sluice_error,
  te,
  trailer,
  transfer_encoding,
  upgrade,
  user_agent,
  x_forwarded_for,
  x_forwarded_host,
  x_forwarded_proto,
  x_idempotency_key,
  count,
};

/// The known header of that name (case-insensitive), or `other`.
[[nodiscard]] Known classify(std::string_view name);

/// Whether two ASCII texts are equal when case is ignored.
[[nodiscard]] bool equals_ignoring_case(std::string_view left, std::string_view right);

/// Whether a comma-separated list of tokens contains `token`, case ignored, parameters not.
[[nodiscard]] bool list_contains(std::string_view list, std::string_view token);

struct Field {
  std::string_view name;
  std::string_view value;
  Known known = Known::other;
  std::string_view line;  ///< `Name: value` with its CRLF
};

/// The header fields of one message in their order. Keeps its memory from message to message, so
/// that a connection in steady state allocates nothing.
class FieldList {
 public:
  FieldList() { clear(); }

  void clear();

  /// Copies name and value. At most 65535 fields are kept; the parsers' limit is not higher.
  void add(std::string_view name, std::string_view value) { add(name, value, classify(name)); }

  /// The same for a name whose classification is known already.
  void add(std::string_view name, std::string_view value, Known known);

  /// Gives the first field of that kind another value, or adds one with this name.
  void set(Known known, std::string_view name, std::string_view value);

  [[nodiscard]] std::size_t size() const { return slots_.size(); }

  [[nodiscard]] Field at(std::size_t index) const {
    const Slot& slot = slots_[index];
    const char* const begin = text_.data() + slot.begin;
    return {{begin, slot.name_size},
            {begin + slot.name_size + kColon, slot.value_size},
            slot.known,
            {begin, slot.name_size + kColon + slot.value_size + kLineEnd}};
  }

  [[nodiscard]] Known known_at(std::size_t index) const { return slots_[index].known; }

  /// Value of the first field of that name; empty when there is none.
  [[nodiscard]] std::string_view get(Known known) const;

  [[nodiscard]] bool has(Known known) const { return first_[index_of(known)] != 0; }

  /// Value of the first field with exactly that name, case ignored; for names without a rule.
  [[nodiscard]] std::string_view find(std::string_view name) const;

  /// Bytes of memory that the fields take, the room they may still grow into included.
  [[nodiscard]] std::size_t memory() const {
    return text_.capacity() + slots_.capacity() * sizeof(Slot);
  }

  /// Makes room for lines of `bytes` in all, so that a long head does not grow step by step to
  /// twice its size.
  void reserve(std::size_t bytes) { text_.reserve(bytes); }

  /// Gives back the room that is not used.
  void shrink() {
    text_.shrink_to_fit();
    slots_.shrink_to_fit();
  }

 private:
  struct Slot {
    std::uint32_t begin;
    std::uint32_t name_size;
    std::uint32_t value_size;
    Known known;
  };

  static constexpr std::uint32_t kColon = 2;    // ": "
  static constexpr std::uint32_t kLineEnd = 2;  // CRLF

  [[nodiscard]] Slot store(std::string_view name, std::string_view value, Known known);

  static constexpr std::size_t index_of(Known known) { return static_cast<std::size_t>(known); }

  std::string text_;  // the lines, one after the other
  std::vector<Slot> slots_;
  std::array<std::uint16_t, static_cast<std::size_t>(Known::count)> first_{};  // position + 1
};

/// How the end of a body is found.
enum class Framing : std::uint8_t { none, length, chunked, until_close };

struct RequestHead {
  std::string method;
  std::string target;
  int version_major = 1;
  int version_minor = 1;
  FieldList fields;
  Framing framing = Framing::none;
  std::uint64_t content_length = 0;
  bool keep_alive = true;

  void clear();

  /// Bytes of memory that it takes beyond its own size.
  [[nodiscard]] std::size_t memory() const {
    return method.capacity() + target.capacity() + fields.memory();
  }

  /// Path part of the target, without query.
  [[nodiscard]] std::string_view path() const;

  /// Whether the method may be repeated without another effect, by itself or by an idempotency key,
  /// and there is no body (queue-proxy.md 9).
  [[nodiscard]] bool repeatable() const;
};

struct ResponseHead {
  int status = 0;
  std::string reason;
  int version_minor = 1;
  FieldList fields;
  Framing framing = Framing::none;
  std::uint64_t content_length = 0;
  bool keep_alive = true;

  void clear();
};

}  // namespace sluice::http
