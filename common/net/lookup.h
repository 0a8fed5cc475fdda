#pragma once

#include "common/net/address.h"
#include "common/net/socket.h"

#include <functional>
#include <memory>
#include <vector>

namespace sluice::net {

/// Finds the endpoints of a host. What calls hosts by their names is given one; it stands apart
/// from the connections, so that the static sidecar, which calls addresses alone, links no
/// resolver.
using Found = std::function<void(const boost::system::error_code&, std::vector<Endpoint>)>;
using Lookup = std::shared_ptr<void> (*)(boost::asio::io_context& io, const Address& address,
                                         Found found);

/// Asks the resolver of the machine; `found` is called once, later. Some of the first endpoints are
/// enough: no more than four come. Releasing what it returns cancels the look-up: one that has not
/// begun then costs the resolver's thread nothing.
[[nodiscard]] std::shared_ptr<void> look_up(boost::asio::io_context& io, const Address& address,
                                            Found found);

}  // namespace sluice::net
