#pragma once

#include "common/base/result.h"
#include "common/kube/access.h"
#include "common/log/log.h"
#include "common/metrics/families.h"
#include "common/time/clock.h"
#include "common/time/time_point.h"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::kube {

/// Owner of the fields that we apply.
inline constexpr std::string_view kFieldManager = "sluice";

enum class Verb : std::uint8_t {
  get,
  create,       ///< POST
  replace,      ///< PUT
  merge_patch,  ///< application/merge-patch+json
  json_patch,   ///< application/json-patch+json
  apply,        ///< server-side apply, as kFieldManager; conflicts are refused with 409
  apply_force,  ///< the same, taking over fields of others
  remove,       ///< DELETE
};

/// Which token bucket a request draws from (api-server.md 2, row L9).
enum class Lane : std::uint8_t {
  normal,  ///< 20 a second, burst 100
  urgent,  ///< 50 a second: a service that must wake
  free,    ///< leases: never made to wait, and worth nothing when they come late
};

struct Request {
  Verb verb = Verb::get;
  std::string path{};  ///< below the server, with its query: "/api/v1/namespaces/a/pods/b"
  std::string body{};  ///< JSON
  Lane lane = Lane::normal;
  /// Goes before those of its lane without this: what grows before what shrinks
  /// (api-server.md 2, row L5).
  bool first = false;
  /// Of requests with the same text that have not been sent, only the newest is: the others end as
  /// `superseded`. Empty: sent in any case.
  std::string object{};
  /// From when it is sent until its answer is whole; repeats after a 429 included. In lane free
  /// from send() on.
  Duration timeout = std::chrono::seconds{10};
  /// How long it may wait in its lane before that: what was planned longer ago than a lease lasts
  /// may no longer be the caller's to write.
  Duration queue_limit = std::chrono::seconds{10};
};

/// Why there is no answer.
struct Failure {
  enum class Kind : std::uint8_t {
    unreachable,  ///< no connection, or it broke
    timed_out,
    refused,     ///< the server refuses: `status`
    garbled,     ///< what came is no answer of an API server
    superseded,  ///< a newer request for the same object took its place
  };

  Kind kind = Kind::unreachable;
  int status = 0;         ///< of `refused`
  std::string reason{};   ///< of the Status object: "NotFound", "Conflict", "Forbidden", "Expired"
  std::string message{};  ///< for people
  std::optional<Duration> retry_after{};

  /// One line: what, and the server's own words.
  [[nodiscard]] std::string text() const;
};

/// The body of a 2xx answer.
using Answer = Result<std::string, Failure>;

struct ClientOptions {
  double per_second = 20;  ///< lane normal
  double burst = 100;
  std::size_t connections_max = 4;
  std::size_t body_max = 32 * 1024 * 1024;
  /// Requests not sent yet; one more is refused as timed_out, but in lane free.
  std::size_t waiting_max = 20'000;
};

/// Requests to one API server over a few connections that stay open. A 429 pauses its lane for as
/// long as the server requires, and the request is retried until its time is over; everything else
/// is reported to the caller, which decides whether to repeat it. Belongs to one thread.
class Client {
 public:
  using Done = std::function<void(Answer)>;

  /// A request on its way. Destroying it drops the answer: a request that was sent may take
  /// effect all the same.
  class Call {
   public:
    Call() = default;
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    Call(Call&& other) noexcept;
    Call& operator=(Call&& other) noexcept;

    [[nodiscard]] bool active() const;

    /// It waits in its lane, for the first time or after a 429.
    [[nodiscard]] bool waiting() const;

   private:
    friend class Client;
    struct State;
    explicit Call(std::shared_ptr<State> state);
    std::shared_ptr<State> state_;
  };

  struct Counts {
    std::uint64_t requests = 0;  ///< sent, repeats after a 429 included
    std::uint64_t writes = 0;    ///< of them, other than get, in lanes other than free
    std::uint64_t renewals = 0;  ///< of them, other than get, in lane free: of leases
    std::uint64_t failures = 0;
    std::uint64_t throttled = 0;  ///< answered 429
    std::uint64_t connections = 0;
  };

  /// Nothing is connected before the first request. A problem: the access holds no usable
  /// certificate, key or CA. `clock` and `log` outlive the client.
  [[nodiscard]] static Result<std::unique_ptr<Client>, Problem> make(boost::asio::io_context& io,
                                                                     const Clock& clock,
                                                                     const log::Logger& log,
                                                                     Access access,
                                                                     ClientOptions options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// `done` is called once, later, from the loop.
  [[nodiscard]] Call send(Request request, Done done);

  /// The same for a caller that does not keep the call: `done` must hold nothing that can go.
  void send_and_forget(Request request, Done done);

  /// A GET whose answer never ends: a watch, on a separate connection. `head` is called once, with
  /// the status and the text of Retry-After, `body` with each piece, `ended` at the end (an empty
  /// text: the server finished). `silence`: it ends as broken when nothing at all came for so long.
  struct StreamEvents {
    std::function<void(int status, std::string_view retry_after)> head{};
    std::function<void(std::string_view piece)> body{};
    std::function<void(std::string why)> ended{};
  };

  [[nodiscard]] Call stream(std::string path, Duration silence, StreamEvents events);

  /// Requests that wait in that lane.
  [[nodiscard]] std::size_t waiting(Lane lane) const;

  [[nodiscard]] const Counts& counts() const;

  /// The counts as `sluice_kubernetes_*`.
  void write_metrics(metrics::Families& families) const;
  [[nodiscard]] const Access& access() const;

 private:
  struct Inner;
  explicit Client(std::unique_ptr<Inner> inner);
  std::unique_ptr<Inner> inner_;
};

}  // namespace sluice::kube
