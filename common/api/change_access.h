#pragma once

#include "common/api/api_text.h"

#include <optional>
#include <string>
#include <string_view>

// Who may change something through an API, decided from values alone.
namespace sluice::api {

/// The origin and the rights that a request states. Views into the request.
struct ChangeFields {
  std::string_view authority = {};      ///< Host, with or without port
  std::string_view token = {};          ///< Sluice-Edit
  std::string_view authorization = {};  ///< Authorization; empty too where it came twice
  std::string_view origin = {};         ///< Origin; empty where it was not sent
  std::string_view fetch_site = {};     ///< Sec-Fetch-Site; likewise
  std::string_view repeated = {};       ///< one of the others that came in more lines than one
  unsigned seen = 0;                    ///< of those, one bit each

  /// Takes a field of the request if it is one of these, Host excepted.
  void take(std::string_view name, std::string_view value);
};

/// Whether two texts are equal, in a time that depends on their lengths alone.
[[nodiscard]] bool equal_secretly(std::string_view left, std::string_view right);

/// The token of `Authorization: Bearer TOKEN`; empty for anything else.
[[nodiscard]] std::string_view bearer_of(std::string_view authorization);

/// Whether a request comes from a page of this very host, or from no page. A browser names the page
/// from which a request comes; anything else than that is refused, whatever its credentials.
[[nodiscard]] bool is_own_page(const ChangeFields& fields);

/// Whether a browser says that it sends the request for a page, whatever page that is.
[[nodiscard]] bool is_page(const ChangeFields& fields);

/// 403 for a page of another site.
[[nodiscard]] http::ApiProblem other_site();

/// 400 for a field that came in more lines than one: which of them counts is not for a refusal to
/// depend on.
[[nodiscard]] http::ApiProblem sent_twice(std::string_view name);

/// Why a change is refused where `token`, which is not empty, opens it: as `Authorization: Bearer
/// TOKEN` or as `Sluice-Edit: TOKEN`. `setting` names what holds the token. Nothing: it may pass.
[[nodiscard]] std::optional<http::ApiProblem> judge_change(const ChangeFields& fields,
                                                           std::string_view token,
                                                           std::string_view setting);

/// Fewest and most bytes of a token that a person made.
inline constexpr std::size_t kTokenBytesMin = 16;
inline constexpr std::size_t kTokenBytesMax = 4096;

/// The token that a file holds: one line of printable text without spaces. A problem says what is
/// wrong with it, and not what it is.
[[nodiscard]] Result<std::string, Problem> token_in(std::string_view content);

}  // namespace sluice::api
