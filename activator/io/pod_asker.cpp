#include "activator/io/pod_asker.h"

#include <utility>

namespace sluice::activator {
namespace {

class PoolQuestion final : public PodAsker::Question {
 public:
  PoolQuestion(boost::asio::io_context& io, net::UpstreamPool& pool, net::PoolProbeRequest request,
               net::PoolProbe::Done done)
      : probe_{io, pool, std::move(request), std::move(done)} {}

 private:
  net::PoolProbe probe_;
};

}  // namespace

std::unique_ptr<PodAsker::Question> PoolAsker::ask(net::UpstreamPool& pool,
                                                   net::PoolProbeRequest request,
                                                   net::PoolProbe::Done done) {
  return std::make_unique<PoolQuestion>(io_, pool, std::move(request), std::move(done));
}

}  // namespace sluice::activator
