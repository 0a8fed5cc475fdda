#pragma once

#include "activator/io/front_gateway.h"
#include "common/messages/activator_stream.h"
#include "common/time/time_point.h"

#include <vector>

// The values that a front gateway and the messages of protocols.md 3 share.
namespace sluice::activator {

/// What a state of the autoscaler means for waiting requests.
[[nodiscard]] FrontGrant grant_of(const proto::RevisionState& state);

/// Every revision with requests that are held now.
[[nodiscard]] std::vector<proto::Waiting> held_by(const FrontGateway& front, TimePoint now);

/// The same of one revision whose first request has just come: one at least.
[[nodiscard]] proto::Waiting poke_of(const FrontGateway& front, RevisionHandle revision,
                                     TimePoint now);

}  // namespace sluice::activator
