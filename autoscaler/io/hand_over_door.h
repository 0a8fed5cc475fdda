#pragma once

#include "common/log/log.h"
#include "common/messages/hand_over.h"
#include "common/rpc/call.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace sluice::autoscaler {

/// Where replicas that end hand over what they knew: calls of proto::kHandOverMethod. Belongs to
/// one thread.
class HandOverDoor {
 public:
  /// What becomes of a request; its protocol is ours.
  using Take = std::function<proto::TakeReply(proto::TakeRequest)>;

  /// Calls at a time, at most.
  static constexpr std::size_t kCallsMax = 16;

  /// `log` outlives this.
  HandOverDoor(boost::asio::io_context& io, const log::Logger& log, Take take);
  ~HandOverDoor();
  HandOverDoor(const HandOverDoor&) = delete;
  HandOverDoor& operator=(const HandOverDoor&) = delete;

  /// A new call.
  void take(std::unique_ptr<rpc::Call> call);

  /// Ends every call.
  void close();

  /// Revisions that were taken so far.
  [[nodiscard]] std::uint64_t taken() const { return taken_; }

 private:
  struct Line {
    std::unique_ptr<rpc::Call> call;
    std::unique_ptr<boost::asio::steady_timer> limit;
  };

  void received(std::uint64_t id, const std::string& bytes);
  void refuse(std::uint64_t id, const rpc::Ending& ending);

  boost::asio::io_context& io_;
  const log::Logger& log_;
  Take take_;
  std::map<std::uint64_t, Line> lines_;
  std::uint64_t next_ = 1;
  std::uint64_t taken_ = 0;
};

}  // namespace sluice::autoscaler
