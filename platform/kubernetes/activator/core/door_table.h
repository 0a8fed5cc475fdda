#pragma once

#include "common/base/ids.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace sluice::activator {

/// The ports to listen on, and their revisions. If two use one port, the one that has it keeps it,
/// else the first by namespace and name gets it; the controller will give the other a port of its
/// own.
class DoorTable {
 public:
  /// The port of this revision from now on; absent: none.
  void want(const RevisionId& revision, std::optional<std::uint16_t> port);

  /// A door that must be closed, or opened for `revision`.
  struct Step {
    std::uint16_t port = 0;
    RevisionId revision;

    friend bool operator==(const Step&, const Step&) = default;
  };

  struct Plan {
    std::vector<Step> close;  ///< to be done first: a port may change hands
    std::vector<Step> open;   ///< each one owes opened() or failed()
  };

  /// What is to be done now. Ports that failed are in it again.
  [[nodiscard]] Plan plan();

  void opened(std::uint16_t port);
  void failed(std::uint16_t port);

  [[nodiscard]] std::size_t open() const { return open_; }

  /// Ports that are wanted but unavailable now: taken by another scaler or another program.
  [[nodiscard]] std::size_t missing() const { return wanted_.size() - open_; }

 private:
  enum class State : bool { closed, open };

  struct Door {
    std::set<RevisionId> claims;
    std::optional<RevisionId> holder;  // it is open, or being opened, for them
    State state = State::closed;
  };

  std::map<RevisionId, std::uint16_t> wanted_;
  std::map<std::uint16_t, Door> doors_;
  std::set<std::uint16_t> unsettled_;  // ports to look at
  std::size_t open_ = 0;
};

}  // namespace sluice::activator
