#pragma once

#include "common/base/lifetime.h"
#include "common/net/address.h"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sluice::net {
class Fetch;
}  // namespace sluice::net

namespace sluice::autoscaler {

/// Another replica of the autoscaler that governs some of the revisions.
struct Peer {
  std::string name;    ///< of its pod
  net::Address api{};  ///< where it answers

  friend bool operator==(const Peer&, const Peer&) = default;
};

/// Who governs what this replica does not.
struct PeerList {
  std::vector<Peer> peers{};          ///< each name once, in the order of names
  std::vector<std::string> unheld{};  ///< buckets that no replica is known to hold
  std::optional<Peer> leader{};       ///< to chosen nodes report; absent: this one, or none

  /// Whether this replica governs all there is.
  [[nodiscard]] bool is_all_here() const { return peers.empty() && unheld.empty(); }
};

/// What a peer answered.
struct PeerAnswer {
  static constexpr int kOk = 200;

  int status = 0;
  std::string content_type{};
  std::string body{};
};

/// A change that a replica passes on to the one that governs what is to change.
struct PeerChange {
  std::string target;  ///< marked (target_here)
  std::string body;
  std::string token;  ///< of the client, judged already; of printable characters
};

/// The other replicas of the autoscaler, and questions to them. A question has a deadline, and is
/// marked (kHere), so that none is asked on.
class Peers {
 public:
  /// The parameter of a question that a replica answers for what it governs alone.
  static constexpr const char* kHere = "here";

  /// Gets the answer; absent: there was none in time, or one that is too large.
  using Answered = std::function<void(std::optional<PeerAnswer>)>;

  Peers() = default;
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  virtual ~Peers() = default;

  /// Absent: there is one replica, which answers for all.
  [[nodiscard]] virtual std::optional<PeerList> list() const = 0;

  /// How long an answer is waited for, and one that is long.
  static constexpr std::chrono::milliseconds kDeadline{1000};
  static constexpr std::chrono::milliseconds kLongDeadline{10'000};

  /// GETs `target`. `answered` is called once, later, unless this ends first.
  virtual void ask(const Peer& peer, const std::string& target, std::chrono::milliseconds deadline,
                   Answered answered) = 0;

  /// POSTs `change`, with kLongDeadline; likewise.
  virtual void change(const Peer& peer, const PeerChange& change, Answered answered) = 0;
};

/// Asks each of `chosen` the same. `done` gets the answers in their order; at once if there are
/// none.
void ask_all(Peers& peers, const std::vector<Peer>& chosen, const std::string& target,
             std::function<void(std::vector<std::optional<PeerAnswer>>)> done);

/// `target` as a peer is asked it: marked, and with `more` in place of parameters of those names.
[[nodiscard]] std::string target_here(
    const std::string& target, const std::vector<std::pair<std::string, std::string>>& more = {});

/// Over HTTP, one connection for each question.
class HttpPeers final : public Peers {
 public:
  /// How large an answer may be.
  static constexpr std::size_t kBytesMax = 32U << 20U;

  /// Questions on their way; more are not asked.
  static constexpr std::size_t kAsksMax = 256;

  /// `io` outlives this.
  HttpPeers(boost::asio::io_context& io, std::function<std::optional<PeerList>()> list);
  HttpPeers(const HttpPeers&) = delete;
  HttpPeers& operator=(const HttpPeers&) = delete;
  ~HttpPeers() override;

  [[nodiscard]] std::optional<PeerList> list() const override { return list_(); }

  void ask(const Peer& peer, const std::string& target, std::chrono::milliseconds deadline,
           Answered answered) override;

  void change(const Peer& peer, const PeerChange& change, Answered answered) override;

 private:
  void send(const Peer& peer, std::string text, std::chrono::milliseconds deadline,
            Answered answered);

  boost::asio::io_context& io_;
  std::function<std::optional<PeerList>()> list_;
  std::unordered_map<std::uint64_t, std::unique_ptr<net::Fetch>> asks_;
  std::uint64_t last_ = 0;
  Lifetime alive_;
};

}  // namespace sluice::autoscaler
