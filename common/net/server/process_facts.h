#pragma once

#include "common/metrics/families.h"

#include <string>

namespace sluice::metrics {

/// Writes the kernel's figures of this process, as Prometheus' own clients name it: `process_*`.
/// `started`: Unix time of its start in seconds. Reads /proc; what cannot be read is left out.
void write_process_facts(Families& families, double started);

/// Socket counts of this network namespace in one line (/proc/net/sockstat), for the log of an
/// upstream that fails; empty when they cannot be read.
[[nodiscard]] std::string socket_counts();

}  // namespace sluice::metrics
