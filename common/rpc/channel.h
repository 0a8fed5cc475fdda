#pragma once

#include "common/time/time_point.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/channel_arguments.h>

namespace sluice::rpc {

// Both ends send a ping after so long without a message, and give up after so long without an
// answer.
inline constexpr int kPingMilliseconds = 10'000;
inline constexpr int kPingTimeoutMilliseconds = 5'000;

/// Calls whose messages are bytes.
using Stub = grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer>;

/// Of a channel that dials only for itself and only on request: no connection is shared, no call is
/// tried twice, no proxy and no service configuration is looked up, and the pauses between two
/// attempts are the caller's. `dial` bounds one attempt to connect.
[[nodiscard]] grpc::ChannelArguments channel_arguments(Duration dial);

}  // namespace sluice::rpc
