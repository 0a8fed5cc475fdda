#pragma once

#include "autoscaler/core/nodes/node_book.h"
#include "autoscaler/io/refusals.h"
#include "common/log/log.h"
#include "common/loop/loop.h"
#include "common/rpc/call.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace sluice::autoscaler {

/// The streams from node agents (protocols.md 4): reports go to the book, acks come back.
class NodeStreams {
 public:
  /// The node of a pod, empty: none yet; absent: there is no such pod here.
  using Where =
      std::function<std::optional<std::string>(const std::string& space, const std::string& pod)>;

  /// All references outlive this. `changed` is called when the book answers otherwise. `where`: to
  /// count reports about pods of other nodes, which are always refused; or empty.
  NodeStreams(Loop& time, const log::Logger& log, NodeBook& book, Refusals& refusals,
              std::function<void()> changed, Where where = {});
  ~NodeStreams();
  NodeStreams(const NodeStreams&) = delete;
  NodeStreams& operator=(const NodeStreams&) = delete;

  /// `changed` gets the name of a node whose pressure is another than before.
  void on_pressure(std::function<void(const std::string& node)> changed) {
    on_pressure_ = std::move(changed);
  }

  /// A new stream. Refused while another replica leads, so that the agent tries the next one.
  void take(std::unique_ptr<rpc::Call> call);

  /// Whether this replica takes reports, as it does from the beginning. If not, every stream ends.
  void set_leading(bool leading);

  /// Ends every stream; agents reconnect to the next server.
  void close();

  [[nodiscard]] std::size_t open() const { return lines_.size(); }

 private:
  struct Line {
    std::unique_ptr<rpc::Call> call;
    std::string node;  // empty until the first report
    TimePoint heard;
    std::optional<proto::NodeReportAck> owed;  // the newest, while a message is on its way
  };

  void received(std::uint64_t id, const std::string& bytes);
  [[nodiscard]] std::optional<rpc::Ending> not_its_own(const Line& line,
                                                       const proto::NodeReport& report) const;
  void count_claims(const Line& line, const proto::NodeReport& report);
  void end(std::uint64_t id, const rpc::Ending& ending);
  void end_all(const char* why);
  static void send(Line& line);
  void end_silent();
  void watch();

  Loop& time_;
  const log::Logger& log_;
  NodeBook& book_;
  Refusals& refusals_;
  std::function<void()> changed_;
  Where where_;
  std::function<void(const std::string&)> on_pressure_;
  std::unique_ptr<Timer> watch_timer_;
  std::map<std::uint64_t, Line> lines_;
  std::uint64_t next_ = 1;
  bool leading_ = true;
  bool watching_ = false;
};

}  // namespace sluice::autoscaler
