#pragma once

#include "autoscaler/core/nodes/refusal_notes.h"
#include "common/log/log.h"
#include "common/metrics/families.h"
#include "common/time/clock.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace sluice::autoscaler {

/// Refused connections, calls and claims of peers: counted by reason, and logged at the pace of
/// RefusalNotes.
class Refusals {
 public:
  /// Both outlive this.
  Refusals(const Clock& clock, const log::Logger& log) : clock_{clock}, log_{log} {}

  /// `reason`: a label, one of few. `peer`: its address, as gRPC writes it, without its port.
  /// `why`: a sentence that names the setting.
  void add(std::string_view reason, const std::string& peer, const std::string& why) {
    add(reason, peer, [&why] { return why; });
  }

  /// The same; `why()` makes the sentence, and is called only where it is logged.
  template <class Why>
  requires std::is_invocable_r_v<std::string, const Why&>

  void add(std::string_view reason, const std::string& peer, const Why& why) {
    if (const auto count = noted(reason, peer)) tell(reason, peer, *count, why());
  }

  void write_metrics(metrics::Families& families) const;

 private:
  [[nodiscard]] std::optional<std::uint64_t> noted(std::string_view reason,
                                                   const std::string& peer);
  void tell(std::string_view reason, const std::string& peer, std::uint64_t count,
            const std::string& why) const;

  const Clock& clock_;
  const log::Logger& log_;
  std::map<std::string, std::uint64_t, std::less<>> counts_;
  RefusalNotes notes_;
};

}  // namespace sluice::autoscaler
