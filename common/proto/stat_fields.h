#pragma once

#include "common/messages/activator_stream.h"
#include "common/messages/stat.h"

#include <optional>
#include <string_view>

namespace metrics {
class Stat;
}  // namespace metrics

// Between the generated messages of stat.proto and their twins: for codecs only.
namespace sluice::proto {

/// Whether a revision can have this name, or live in a namespace of this name.
[[nodiscard]] bool is_revision_name(std::string_view name);

void write_stat(const Stat& stat, metrics::Stat& wire);
[[nodiscard]] Stat read_stat(const metrics::Stat& wire);

/// What metrics.WireStatMessage and sluice.v1.RevisionStat have in common.
template <class Wire>
void write_stat_message(const StatMessage& message, Wire& wire) {
  wire.set_namespace_(message.revision.space);
  wire.set_name(message.revision.name);
  write_stat(message.stat, *wire.mutable_stat());
}

/// Absent: there is no stat, or a name is none.
template <class Wire>
[[nodiscard]] std::optional<StatMessage> read_stat_message(const Wire& wire) {
  if (!wire.has_stat() || wire.stat().pod_name().size() > kNameBytesMax ||
      !is_revision_name(wire.namespace_()) || !is_revision_name(wire.name())) {
    return std::nullopt;
  }
  return StatMessage{{wire.namespace_(), wire.name()}, read_stat(wire.stat())};
}

}  // namespace sluice::proto
