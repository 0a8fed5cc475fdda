#pragma once

#include "common/base/lifetime.h"
#include "common/kube/client.h"
#include "common/time/time_point.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::kube {

/// Asks whether a group of the API is in the cluster, until it is: of the list of all groups, which
/// every account may read and every cluster has. Where the group is not installed that costs no
/// rule, no refusal and no line in the log. Belongs to one thread.
class GroupPresence {
 public:
  /// How often the presence of the group is checked.
  static constexpr Duration kAbsentPause = std::chrono::seconds{60};
  /// When there was no answer: at first, and at most.
  static constexpr Duration kFirstPause = std::chrono::milliseconds{100};
  static constexpr Duration kFailedPause = std::chrono::seconds{5};

  /// The pause after so many failures in a row, one or more: each is twice the one before.
  [[nodiscard]] static Duration pause_after(std::size_t failures);

  /// Called with each answer; with `true` once, as the last call.
  using Told = std::function<void(bool there)>;

  /// `io` and `client` outlive this. `group`: "serving.knative.dev".
  GroupPresence(boost::asio::io_context& io, Client& client, std::string_view group);
  ~GroupPresence();
  GroupPresence(const GroupPresence&) = delete;
  GroupPresence& operator=(const GroupPresence&) = delete;

  void start(Told told);

  /// It was there at the last check.
  [[nodiscard]] bool there() const { return there_; }

  /// It was not.
  [[nodiscard]] bool absent() const { return absent_; }

  /// Why the last check had no answer; empty: it had one, or is still under way.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void ask();
  void take(const Answer& answer);
  void ask_later(Duration pause);

  Client& client_;
  std::string quoted_;  // the group as it stands in the list
  Told told_;
  bool there_ = false;
  bool absent_ = false;
  std::string problem_;
  std::size_t failures_ = 0;  // in a row
  boost::asio::steady_timer timer_;
  Client::Call call_;
  Lifetime alive_;
};

}  // namespace sluice::kube
