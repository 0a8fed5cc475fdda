#pragma once

#include "common/api/api_text.h"
#include "common/base/result.h"
#include "common/net/address.h"
#include "common/time/time_point.h"

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

/// Where an API is answered: at the socket of an engine of this machine, or at a server.
struct ApiPlace {
  std::string name;  ///< for people
  net::Address at = {};
  std::string token = {};  ///< that opens changes at a server; may be empty

  [[nodiscard]] bool is_server() const { return !at.is_unix(); }
};

/// The server of `http://HOST[:PORT]`, port 8082 by default.
[[nodiscard]] Result<ApiPlace, Problem> parse_server(std::string_view url);

/// A blocking client of one API; every call opens its own connection.
class ApiClient {
 public:
  explicit ApiClient(ApiPlace place);

  /// The whole answer, whatever its status. A problem: no connection, no answer in time.
  [[nodiscard]] Result<ApiReply, Problem> send(const ApiCall& call) const;

  /// Hands each piece of an endless answer to `on_text` until the engine ends it, `on_text` returns
  /// false, or a signal that ends programs comes, whose number `on_signal` gets. An answer with
  /// another status than 200 is returned whole. A problem: no answer.
  [[nodiscard]] Result<ApiReply, Problem> hold(const ApiCall& call,
                                               const std::function<bool(std::string_view)>& on_text,
                                               const std::function<void(int)>& on_signal) const;

  /// Hands each piece of an endless answer to `on_text` until the engine ends it or `on_text`
  /// returns false. Waits without bound between pieces: the reader ends it with Ctrl-C.
  [[nodiscard]] std::optional<Problem> follow(
      const std::string& target, const std::function<bool(std::string_view)>& on_text) const;

 private:
  ApiPlace place_;
};

using http::url_encoded;

}  // namespace sluice::commands
