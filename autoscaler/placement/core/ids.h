#pragma once

#include <cstddef>
#include <cstdint>

// Dense numbers of what placement handles; names stand only at the edge. Distinct types, so that a
// node cannot be passed for a place.
namespace sluice::placement {

/// Of a group of one machine, or of a cluster. Handed out by the Ledger.
enum class PlaceId : std::uint32_t {};
/// Handed out by the Ledger; one of a node that was removed is used again.
enum class NodeId : std::uint32_t {};
/// Of a revision. Handed out by the caller.
enum class ServiceId : std::uint32_t {};
/// Handed out by the caller.
enum class MoveId : std::uint32_t {};
/// Of services declared together; 0: of none. Handed out by the caller.
enum class ApplicationId : std::uint32_t {};
/// Handed out by the Ledger, each once.
enum class ReservationId : std::uint64_t {};

/// The position of what `id` names.
template <class Id>
[[nodiscard]] constexpr std::size_t index_of(Id id) {
  return static_cast<std::size_t>(id);
}

}  // namespace sluice::placement
