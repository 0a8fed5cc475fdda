#pragma once

#include "autoscaler/kubernetes/core/write_ledger.h"
#include "common/kube/client.h"
#include "common/time/clock.h"

#include <functional>
#include <map>
#include <string>

namespace sluice::autoscaler {

/// Writes objects, one write of each at a time, and none twice before the first can have shown. A
/// write that waits for its turn, for minutes when a thousand objects come at once, becomes the
/// newest that is asked for in its place.
class ObjectWriter {
 public:
  /// Both outlive the writer.
  ObjectWriter(kube::Client& client, const Clock& clock) : client_{client}, clock_{clock} {}

  /// Sends `request`, unless one for `object` is on its way: false then, and it is to be planned
  /// anew later. `done` is called from the loop, unless the writer is gone or a newer write took
  /// the place of this one before it was sent.
  bool write(const std::string& object, kube::Request request, kube::Client::Done done);

  /// Writes that were not sent yet never are, and nobody is told how the others end.
  void abandon();

  /// The object has changed.
  void seen(const std::string& object) { ledger_.seen(object); }

 private:
  [[nodiscard]] bool waits(const std::string& object) const;
  void forget_settled();

  kube::Client& client_;
  const Clock& clock_;
  WriteLedger ledger_;
  std::map<std::string, kube::Client::Call> calls_;
  TimePoint swept_{};
};

}  // namespace sluice::autoscaler
