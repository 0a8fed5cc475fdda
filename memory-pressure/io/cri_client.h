#pragma once

#include "common/base/lifetime.h"
#include "common/base/result.h"

#include <boost/asio/io_context.hpp>

#include "memory-pressure/cri/unary.h"
#include "memory-pressure/io/runtime.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice::node_agent {

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
class CriClient final : public Runtime {
 public:
  template <class T>
  using Done = std::function<void(Result<T, CallFailure>)>;

  struct Options {
    std::vector<std::string> sockets = usual_sockets();  ///< paths; the first that works is used
    Duration deadline = std::chrono::seconds{2};         ///< of each call (row 23)
  };

  CriClient(boost::asio::io_context& io, Options options);

  /// The first socket behind which one answers Version.
  void connect(Found done) override;

  [[nodiscard]] const std::string& socket() const override { return socket_; }

  void list_sandboxes(const Done<std::vector<cri::Sandbox>>& done);
  void list_running(const Done<std::vector<cri::Container>>& done);
  void list_stats(const Done<std::vector<cri::ContainerStats>>& done);
  void status(const std::string& id, bool verbose, const Done<cri::ContainerStatus>& done);
  /// Whether another program has paused it through the runtime. No answer of a runtime that is not
  /// containerd.
  void is_paused(const std::string& id, const Done<bool>& done);
  void update(const std::string& id, const CpuQuota& quota, const Answered& done) override;
  void stop(const std::string& id, Duration grace, const Answered& done) override;

 private:
  void try_socket(std::size_t index, std::shared_ptr<RuntimeProblem> first, const Found& done);
  void call(const std::string& method, const std::string& request, Duration deadline,
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
