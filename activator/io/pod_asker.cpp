#include "activator/io/pod_asker.h"

#include <utility>

namespace sluice::activator {
namespace {

class PoolQuestion final : public PodAsker::Question {
 public:
  PoolQuestion(boost::asio::io_context& io, net::UpstreamPool& pool, PoolProbeRequest request,
               PoolProbe::Done done)
      : probe_{io, pool, std::move(request), std::move(done)} {}

 private:
  PoolProbe probe_;
};

}  // namespace

std::unique_ptr<PodAsker::Question> PoolAsker::ask(net::UpstreamPool& pool,
                                                   PoolProbeRequest request, PoolProbe::Done done) {
  return std::make_unique<PoolQuestion>(io_, pool, std::move(request), std::move(done));
}

}  // namespace sluice::activator
