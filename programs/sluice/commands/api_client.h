#pragma once

#include "common/base/result.h"
#include "common/time/time_point.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::commands {

struct ApiReply {
  int status = 0;
  std::string body;
};

struct ApiCall {
  std::string method = "GET";
  std::string target;
  std::string body = {};
  Duration timeout = std::chrono::seconds{10};
};

/// A blocking client of one engine's api.sock; every call opens its own connection.
class ApiClient {
 public:
  explicit ApiClient(std::filesystem::path socket_path);

  /// The whole answer, whatever its status. A problem: no connection, no answer in time.
  [[nodiscard]] Result<ApiReply, Problem> send(const ApiCall& call) const;

  /// Hands each piece of an endless answer to `on_text` until the engine ends it or `on_text`
  /// returns false. Waits without bound between pieces: the reader ends it with Ctrl-C.
  [[nodiscard]] std::optional<Problem> follow(
      const std::string& target, const std::function<bool(std::string_view)>& on_text) const;

 private:
  std::filesystem::path socket_path_;
};

/// `text` for a path segment or a query value.
[[nodiscard]] std::string url_encoded(std::string_view text);

}  // namespace sluice::commands
