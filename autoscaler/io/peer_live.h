#pragma once

#include "autoscaler/core/view/fleet_rows.h"
#include "autoscaler/io/peers.h"
#include "autoscaler/io/service_finder.h"
#include "common/api/event_ring.h"
#include "common/base/lifetime.h"
#include "common/loop/loop.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace sluice::autoscaler {

/// An event of another replica.
struct PeerEvent {
  api::EventKey key;
  std::string type;  ///< as `/live` has it; the other is the key's
  std::string data;

  /// As `/live` carries it.
  [[nodiscard]] std::string text() const;
};

/// What a stream of another replica would have said since it was last asked.
struct PeerNews {
  bool reset = false;  ///< something is lost
  std::string sample;  ///< of a service: `"row":[…],"replicas":[…]`; empty: none
  std::string events;  ///< as text of a stream
};

/// A service that another replica may show, followed for readers of its stream here.
class PeerService {
 public:
  using OnNews = std::function<void(const PeerNews&)>;

  /// `loop` and `peers` outlive this.
  PeerService(Loop& loop, Peers& peers, ServiceFinder finder, ServiceName name, OnNews on_news);

  /// Asks what is new, unless an answer is on its way. Where the service is, is looked up again
  /// every few seconds. Not from within `on_news`.
  void look();

  /// Whether it is shown by this replica.
  [[nodiscard]] bool is_here() const { return found_.where == ServiceFinder::Found::Where::here; }

 private:
  void find();
  void ask();
  void take(const std::optional<PeerAnswer>& answer);

  Loop& loop_;
  Peers& peers_;
  ServiceFinder finder_;
  ServiceName name_;
  OnNews on_news_;
  ServiceFinder::Found found_{};
  TimePoint find_at_ = TimePoint::min();
  std::string after_;  // `after` of the last answer of found_.peer
  bool asking_ = false;
  Lifetime alive_;
};

/// The fleets of the other replicas, followed while a stream of all services is read here: each is
/// asked once a second what has changed.
class PeerLive {
 public:
  /// All outlive this. `finder` finds services for service().
  PeerLive(Loop& loop, Peers& peers, ServiceFinder finder);

  void read_fleet(bool reads);

  /// Calls `done` once each of the others has answered, or let its time pass, since it is read.
  void when_heard(std::function<void()> done);

  /// Rows that have changed while they were read, with those that have gone.
  [[nodiscard]] const FleetRows& rows() const { return rows_; }

  /// Grows when changes may be lost: who reads since before has to read everything again.
  [[nodiscard]] std::uint64_t breaks() const { return breaks_; }

  /// Adds the figures of those that answer, and `missing`.
  void add_to(nlohmann::json& overview) const;

  /// Gets the events of all services.
  using OnEvents = std::function<void(const std::vector<PeerEvent>&)>;

  /// Gets the name of a replica that answers no more, or `again`: what was between is lost.
  using OnGap = std::function<void(const std::string& name, bool again)>;

  void on_events(OnEvents events, OnGap gap) {
    on_events_ = std::move(events);
    on_gap_ = std::move(gap);
  }

  /// Who did not answer last.
  [[nodiscard]] std::vector<std::string> silent() const;

  /// Which replica shows a service.
  void find(const ServiceName& name, ServiceFinder::Done done) {
    finder_.find(name, std::move(done));
  }

  [[nodiscard]] std::unique_ptr<PeerService> service(const ServiceName& name,
                                                     PeerService::OnNews on_news);

  /// Whether there may be other replicas.
  [[nodiscard]] bool is_shared() const { return peers_.list().has_value(); }

  /// Whether this replica governs all there is now.
  [[nodiscard]] bool is_all_here() const {
    return peers_.list().value_or(PeerList{}).is_all_here();
  }

 private:
  struct Followed {
    Peer peer;
    std::string after{};     // of its last answer
    std::string overview{};  // as JSON; empty: it did not answer, or not yet
    bool asking = false;
    bool silent = false;  // it did not answer
    bool heard = false;   // it did once, or is silent
    bool lost = false;    // something may have changed that was not heard
  };

  void tick(bool begins);
  void ask(const std::string& name, Followed& followed);
  void take(const std::string& name, const std::optional<PeerAnswer>& answer);
  void tell_waiting();
  void take_rows(const std::string& name, const nlohmann::json& body);

  Loop& loop_;
  Peers& peers_;
  ServiceFinder finder_;
  std::unique_ptr<Timer> timer_;
  bool reads_ = false;
  std::map<std::string, Followed> followed_;  // by name
  std::vector<std::string> unheld_;
  FleetRows rows_;
  std::unordered_map<RevisionId, std::string> shown_by_;  // of rows_
  std::uint64_t breaks_ = 0;
  std::uint64_t era_ = 0;                     // of reading
  std::vector<std::function<void()>> waits_;  // for those that have not answered yet
  OnEvents on_events_;
  OnGap on_gap_;
  Lifetime alive_;
};

}  // namespace sluice::autoscaler
