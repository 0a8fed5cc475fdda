#pragma once

#include "common/base/lifetime.h"
#include "common/base/result.h"

#include <boost/asio/io_context.hpp>

#include "memory-pressure/core/action.h"
#include "memory-pressure/cri/cri.h"
#include "memory-pressure/cri/unary.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice::node_agent {

/// Why a runtime cannot be used (memory-pressure.md 9, rows 21, 23 to 25).
enum class Unreachable : std::uint8_t {
  missing,      ///< no socket there: it may come
  denied,       ///< the socket is not for us: it will not change by itself
  refused,      ///< no process listens on the socket: it may come back
  silent,       ///< no answer within the deadline
  unsupported,  ///< it does not speak CRI v1
  failed,       ///< anything else
};

struct RuntimeProblem {
  Unreachable why = Unreachable::failed;
  Problem problem;

  /// Trying again would not help.
  [[nodiscard]] bool is_final() const {
    return why == Unreachable::denied || why == Unreachable::unsupported;
  }
};

/// A call that brought no answer.
struct CallFailure {
  Outcome outcome = Outcome::failed;
  std::string text;
};

/// Sockets of the usual runtimes, in the order in which they are tried (memory-pressure.md 6).
[[nodiscard]] std::vector<std::string> usual_sockets();

/// `unix:///run/x.sock`, `unix:/run/x.sock` or `/run/x.sock` as a path. The problem names the
/// value.
[[nodiscard]] Result<std::string, Problem> socket_path(const std::string& endpoint);

/// The container runtime of this node, over CRI v1. Used on the io thread; callbacks run there,
/// never from within a method, and not any more once the client is gone.
class CriClient {
 public:
  template <class T>
  using Done = std::function<void(Result<T, CallFailure>)>;
  using Ended = std::function<void(Outcome, const std::string& text)>;

  struct Options {
    std::vector<std::string> sockets = usual_sockets();  ///< paths; the first that works is used
    Duration deadline = std::chrono::seconds{2};         ///< of each call (row 23)
  };

  CriClient(boost::asio::io_context& io, Options options);

  /// Finds the runtime: the first socket behind which one answers Version. Until then, and once it
  /// is lost, every other call ends with Outcome::unavailable. May be called again and again.
  void connect(std::function<void(Result<cri::Version, RuntimeProblem>)> done);

  /// The socket in use; empty until connected.
  [[nodiscard]] const std::string& socket() const { return socket_; }

  void list_sandboxes(const Done<std::vector<cri::Sandbox>>& done);
  void list_running(const Done<std::vector<cri::Container>>& done);
  void list_stats(const Done<std::vector<cri::ContainerStats>>& done);
  void status(const std::string& id, bool verbose, const Done<cri::ContainerStatus>& done);
  void update(const std::string& id, const CpuQuota& quota, const Ended& done);

  /// Its deadline is the grace longer than that of other calls.
  void stop(const std::string& id, Duration grace, const Ended& done);

 private:
  void try_socket(std::size_t index, std::shared_ptr<RuntimeProblem> first,
                  const std::function<void(Result<cri::Version, RuntimeProblem>)>& done);
  void call(const char* method, const std::string& request, Duration deadline,
            rpc::UnaryClient::Done done);

  boost::asio::io_context& io_;  // of the program, which outlives this
  Options options_;
  std::string socket_;
  std::unique_ptr<rpc::UnaryClient> client_;
  std::unique_ptr<rpc::UnaryClient> trying_;  // while connecting
  Lifetime alive_;
};

/// How a call that ended so is understood.
[[nodiscard]] Outcome outcome_of(rpc::Code code);

}  // namespace sluice::node_agent
