#include "common/net/lookup.h"

#include <boost/asio/ip/tcp.hpp>

#include <memory>
#include <utility>

namespace sluice::net {
namespace {

constexpr std::size_t kEndpointsMax = 4;

}  // namespace

std::shared_ptr<void> look_up(boost::asio::io_context& io, const Address& address, Found found) {
  using Resolver = boost::asio::ip::tcp::resolver;
  auto resolver = std::make_shared<Resolver>(io);
  resolver->async_resolve(address.host, std::to_string(address.port),
                          [found = std::move(found)](const boost::system::error_code& ec,
                                                     const Resolver::results_type& results) {
                            std::vector<Endpoint> endpoints;
                            for (const auto& each : results) {
                              if (endpoints.size() == kEndpointsMax) break;
                              endpoints.emplace_back(each.endpoint());
                            }
                            found(ec, std::move(endpoints));
                          });
  return resolver;
}

}  // namespace sluice::net
