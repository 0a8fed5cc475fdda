#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::rpc {

/// How a call ended, with gRPC's numbers.
enum class Code : std::uint8_t {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};

/// The name of a code as gRPC writes it: `FAILED_PRECONDITION`.
[[nodiscard]] std::string_view name_of(Code code);

/// What the last words of a call were.
struct Ending {
  Code code = Code::ok;
  std::string text{};

  /// Both on one line, for logs.
  [[nodiscard]] std::string show() const;

  friend bool operator==(const Ending&, const Ending&) = default;
};

}  // namespace sluice::rpc
