#pragma once

#include "common/messages/stat.h"

#include <optional>
#include <string_view>

namespace metrics {
class Stat;
class WireStatMessage;
}  // namespace metrics

// Between the generated messages of stat.proto and their twins: for codecs only.
namespace sluice::proto {

/// Whether a revision can have this name, or live in a namespace of this name.
[[nodiscard]] bool is_revision_name(std::string_view name);

void write_stat(const Stat& stat, metrics::Stat& wire);
[[nodiscard]] Stat read_stat(const metrics::Stat& wire);

void write_stat_message(const StatMessage& message, metrics::WireStatMessage& wire);

/// Absent: there is no stat, or a name is none.
[[nodiscard]] std::optional<StatMessage> read_stat_message(const metrics::WireStatMessage& wire);

}  // namespace sluice::proto
