#pragma once

#include "common/base/result.h"

#include "memory-pressure/core/action.h"
#include "memory-pressure/cri/cri.h"
#include <cstdint>
#include <functional>
#include <string>

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

/// The container runtime of a node, as far as it is changed. Callbacks never run from within a
/// method, and may run when the caller is gone: a Lifetime tells.
class Runtime {
 public:
  using Found = std::function<void(Result<cri::Version, RuntimeProblem>)>;
  using Answered = std::function<void(Outcome, const std::string& text)>;

  virtual ~Runtime() = default;

  /// Finds the runtime. Until then, and once it is lost, every other call ends with
  /// Outcome::unavailable. May be called again and again.
  virtual void connect(Found done) = 0;

  /// The socket in use; empty until connected.
  [[nodiscard]] virtual const std::string& socket() const = 0;

  virtual void update(const std::string& id, const CpuQuota& quota, const Answered& done) = 0;

  /// Its deadline is the grace longer than that of other calls.
  virtual void stop(const std::string& id, Duration grace, const Answered& done) = 0;
};

}  // namespace sluice::node_agent
