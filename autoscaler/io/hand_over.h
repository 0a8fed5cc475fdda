#pragma once

#include "autoscaler/core/buckets.h"
#include "common/log/log.h"
#include "common/messages/hand_over.h"
#include "common/time/time_point.h"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::autoscaler {

struct HandOverSpec {
  Holder self;
  std::uint16_t port = 8081;  ///< of every replica's gRPC door
  std::string tls_dir{};      ///< as for the other streams; empty: clear text
  std::string tls_name{};     ///< that a replica's certificate carries, since it is dialled by IP
};

/// What became of a hand-over.
struct HandOverResult {
  std::size_t revisions = 0;  ///< that there were
  std::size_t taken = 0;      ///< by whoever holds their bucket now
  std::size_t left = 0;       ///< refused by it; the rest was never answered for
};

/// The end of a replica that goes in order: what it knew of its revisions is told to the replicas
/// that hold their buckets next, as soon as the leases say who that is. Belongs to one thread.
class HandOver {
 public:
  using Done = std::function<void(const HandOverResult&)>;

  /// `log` outlives this.
  HandOver(boost::asio::io_context& io, const log::Logger& log, HandOverSpec spec);

  /// Gives up what is under way; `done` is not called.
  ~HandOver();
  HandOver(const HandOver&) = delete;
  HandOver& operator=(const HandOver&) = delete;

  /// `messages`: of each bucket that is given back, proto::encode_take_requests(), encoded with the
  /// time of now; `revisions`: in all of them. `done` is called once, later, when all were answered
  /// or `limit` is over. Once.
  void begin(std::map<std::string, std::vector<std::string>> messages, std::size_t revisions,
             Duration limit, Done done);

  /// BucketLeases::Events::holder; before begin() it is remembered.
  void holder_is(const std::string& bucket, const std::optional<Holder>& holder);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace sluice::autoscaler
