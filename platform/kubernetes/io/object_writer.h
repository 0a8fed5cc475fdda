#pragma once

#include "common/kube/client.h"
#include "common/time/clock.h"

#include "platform/kubernetes/core/write_ledger.h"
#include <functional>
#include <map>
#include <string>

namespace sluice::autoscaler {

/// Writes objects, one write of each at a time, and none twice before the first can have shown. Few
/// wait in a queue: a thousand objects that come at once are minutes of writes, and what is
/// written is to be planned shortly before. One that waits becomes the newest that is requested in
/// its place.
class ObjectWriter {
 public:
  /// Writes that may wait for their turn in the normal lane, some seconds of them; as many again of
  /// those that go first.
  static constexpr std::size_t kAhead = 100;

  /// Both outlive the writer.
  ObjectWriter(kube::Client& client, const Clock& clock) : client_{client}, clock_{clock} {}

  /// Sends `request`, unless one for `object` is on its way or too many wait: false then, and it
  /// has to be planned again later. `done` is called from the loop, unless the writer is gone or a
  /// newer write took the place of this one before it was sent.
  bool write(const std::string& object, kube::Request request, kube::Client::Done done);

  /// The wanted state exists already: a write of `object` that still waits is never sent, and its
  /// end is not reported.
  void withdraw(const std::string& object);

  /// Unsent writes are dropped, and the end of the others is not reported.
  void abandon();

  /// A write of `object` is under way, or has not shown yet.
  [[nodiscard]] bool unseen(const std::string& object) const {
    return ledger_.unseen(object, clock_.now());
  }

  /// The object has changed.
  void seen(const std::string& object) { ledger_.seen(object); }

 private:
  [[nodiscard]] bool waits(const std::string& object) const;
  [[nodiscard]] bool has_room(const kube::Request& request) const;
  void forget_settled();

  kube::Client& client_;
  const Clock& clock_;
  WriteLedger ledger_;
  std::map<std::string, kube::Client::Call> calls_;
  TimePoint swept_{};
};

}  // namespace sluice::autoscaler
