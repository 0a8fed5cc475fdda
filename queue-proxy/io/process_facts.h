#pragma once

#include "queue-proxy/core/exposition.h"

namespace sluice::queue_proxy {

/// Writes what the kernel knows of this process, as Prometheus' own clients name it: `process_*`.
/// `started`: Unix time of its start in seconds. Reads /proc; what cannot be read is left out.
void write_process_facts(Exposition& text, double started);

}  // namespace sluice::queue_proxy
