#pragma once

#include "activator/core/autoscaler_link.h"
#include "activator/io/autoscaler_line.h"
#include "activator/io/autoscaler_peer.h"
#include "common/base/result.h"
#include "common/log/log.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::activator {

struct StreamSpec {
  std::vector<std::string> targets;  ///< one per replica, as the lines name them
  AutoscalerLink::Self self;
};

/// Our own autoscaler, by the stream of protocols.md 3: carries out what AutoscalerLink decides.
class AutoscalerStream final : public AutoscalerPeer {
 public:
  /// `dialler` and `log` outlive this. Problem: a line that cannot be made.
  [[nodiscard]] static Result<std::unique_ptr<AutoscalerStream>, Problem> make(
      AutoscalerDialler& dialler, const log::Logger& log, StreamSpec spec, PeerEvents events);

  ~AutoscalerStream() override;
  AutoscalerStream(const AutoscalerStream&) = delete;
  AutoscalerStream& operator=(const AutoscalerStream&) = delete;

  void start() override;
  void poke(const RevisionStat& stat, const proto::Waiting& held, TimePoint now) override;
  void tick(std::span<const RevisionStat> stats, std::span<const proto::Waiting> waiting,
            TimePoint now) override;
  void cold_start(const proto::ColdStart& start) override;
  void follow(const std::vector<std::string>& targets) override;
  [[nodiscard]] const proto::RevisionState* state(const RevisionId& revision) const override;

  [[nodiscard]] bool reachable() const override { return link_.welcomed() > 0; }

  [[nodiscard]] std::uint64_t errors() const override { return errors_; }

 private:
  struct Replica {
    AutoscalerLink::Stream stream = 0;
    std::unique_ptr<AutoscalerLine> line;
    bool told = false;  // that it cannot be reached
  };

  AutoscalerStream(AutoscalerDialler& dialler, const log::Logger& log, StreamSpec spec,
                   PeerEvents events);

  [[nodiscard]] std::optional<Problem> add(const std::string& target);
  void settle();
  void connected(Replica& replica);
  void received(Replica& replica, proto::AutoscalerMessage message);
  void unreadable(Replica& replica);
  void closed(Replica& replica, const rpc::Ending& ending, bool connected);
  void pump(Replica& replica);
  void pump_all();

  AutoscalerDialler& dialler_;
  const log::Logger& log_;
  StreamSpec spec_;
  PeerEvents events_;
  AutoscalerLink link_;
  std::uint64_t errors_ = 0;
  bool started_ = false;
  bool incomplete_ = false;  // spec_.targets has one that could not be added
  std::vector<std::unique_ptr<Replica>> replicas_;
};

}  // namespace sluice::activator
