#pragma once

#include "common/kube/client.h"
#include "common/time/time_point.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::kube {

/// Asks whether a group of the API is in the cluster, until it is: of the list of all groups, which
/// everybody may read and every cluster has. Where nobody installed the group that costs no rule,
/// no refusal and no line in the log. Belongs to one thread.
class GroupPresence {
 public:
  /// How often it is asked whether the group has come.
  static constexpr Duration kAbsentPause = std::chrono::seconds{60};
  /// And when there was no answer.
  static constexpr Duration kFailedPause = std::chrono::seconds{5};

  /// Called with each answer; with `true` once, at last.
  using Told = std::function<void(bool there)>;

  /// `io` and `client` outlive this. `group`: "serving.knative.dev".
  GroupPresence(boost::asio::io_context& io, Client& client, std::string_view group);
  ~GroupPresence();
  GroupPresence(const GroupPresence&) = delete;
  GroupPresence& operator=(const GroupPresence&) = delete;

  void start(Told told);

  /// It was there when last asked.
  [[nodiscard]] bool there() const { return there_; }

  /// It was not.
  [[nodiscard]] bool absent() const { return absent_; }

 private:
  void ask();
  void take(const Answer& answer);
  void ask_later(Duration pause);

  Client& client_;
  std::string quoted_;  // the group as it stands in the list
  Told told_;
  bool there_ = false;
  bool absent_ = false;
  boost::asio::steady_timer timer_;
  Client::Call call_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace sluice::kube
