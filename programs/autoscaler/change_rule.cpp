#include "programs/autoscaler/change_rule.h"

#include "common/api/change_access.h"
#include "common/files/file_io.h"
#include "common/settings/reader.h"

#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr const char* kSetting = "SLUICE_API_TOKEN_FILE";

Result<std::string, Problem> read_token(const std::string& token_file) {
  auto content = files::read_file(token_file);
  if (!content) return settings::named(kSetting, content.error());
  if (!*content) {
    return Problem{std::string{kSetting} + ": there is no file " + token_file,
                   "put a token of at least 16 bytes there"};
  }
  auto token = api::token_in(**content);
  if (!token) return settings::named(kSetting, token.error());
  return token;
}

http::ApiProblem read_only(std::string detail, std::string fix) {
  return {403, "read-only", "Read-only", std::move(detail), std::move(fix)};
}

}  // namespace

ChangeRule change_rule(std::string token_file) {
  return [path = std::move(token_file)](
             const api::ApiRequest& request) -> std::optional<http::ApiProblem> {
    if (path.empty()) {
      return read_only("changes are not allowed through this API",
                       std::string{"name a file with a token in "} + kSetting +
                           ", or change the objects of the platform");
    }
    const auto token = read_token(path);
    if (!token) {
      return read_only("changes are not possible now: " + token.error().what, token.error().fix);
    }
    return api::judge_change(request.change, *token, kSetting);
  };
}

std::optional<Problem> check_token_file(const std::string& token_file) {
  if (token_file.empty()) return std::nullopt;
  const auto token = read_token(token_file);
  return token ? std::nullopt : std::optional{token.error()};
}

}  // namespace sluice::autoscaler
