#pragma once

#include "autoscaler/core/share/buckets.h"
#include "common/log/log.h"
#include "common/messages/stat.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// Forwards stats of revisions that another replica scales to it over WebSocket (autoscaler.md
/// 10.2): those of Knative's activators, which send to one address only, and those of our
/// activators that do not have the present owners yet. Belongs to one thread.
class StatForwarder {
 public:
  /// Takes stats of revisions that are ours.
  using Record = std::function<void(std::span<const proto::StatMessage>)>;

  struct Counts {
    std::uint64_t forwarded = 0;  ///< stats that were written to a holder
    std::uint64_t dropped = 0;    ///< after the last retry, or because there was no room
    std::uint64_t failures = 0;   ///< connections that failed or broke
  };

  /// `self`: this replica, to which nothing is sent. `buckets`: all of them. `clock` and `log`
  /// outlive this. No bucket is held yet.
  StatForwarder(boost::asio::io_context& io, const Clock& clock, const log::Logger& log,
                Holder self, std::vector<std::string> buckets, SystemDomain system, Record record);
  ~StatForwarder();
  StatForwarder(const StatForwarder&) = delete;
  StatForwarder& operator=(const StatForwarder&) = delete;

  /// Stats of any revisions. Ours are recorded before this returns; the others leave soon, or wait
  /// for their holder for up to 15 s.
  void take(std::span<const proto::StatMessage> messages);

  /// The buckets that are ours now.
  void set_owned(std::span<const std::string> owned);

  /// BucketLeases::Events::holder.
  void holder_is(const std::string& bucket, const std::optional<Holder>& holder);

  [[nodiscard]] Counts counts() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace sluice::autoscaler
