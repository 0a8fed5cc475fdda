#pragma once

#include "autoscaler/io/api_routes.h"
#include "autoscaler/io/joined_list.h"
#include "autoscaler/io/peers.h"
#include "autoscaler/io/service_finder.h"
#include "common/api/api_request.h"
#include "common/base/lifetime.h"
#include "common/base/result.h"
#include "common/loop/loop.h"

#include <functional>
#include <memory>
#include <string>

namespace sluice::autoscaler {

/// The API of one of several replicas, which answers for all: what it does not govern it asks of
/// those that hold the other buckets, and passes a change of it on to the one that governs it. That
/// happens once: what another replica asks is answered for what is governed here. Who does not
/// answer in time is named in `missing`.
class JoinedApi final : public api::ApiSource {
 public:
  /// Answers made with the help of others at a time; one more gets 503.
  static constexpr int kAskingMax = 64;

  /// All outlive this. `own` answers for this replica, whose name is `name`; `change` judges what
  /// is passed on, as it does there.
  JoinedApi(std::string name, Loop& loop, api::ApiSource& own, Api& services, Peers& peers,
            ChangeRule change);

  [[nodiscard]] api::ApiAnswer answer(const api::ApiRequest& request) override;

  [[nodiscard]] api::EventRing& events() override { return own_.events(); }

 private:
  using Later = api::ApiAnswer::Later;
  using Make = std::function<void(const api::ApiRequest& request, const Later& done)>;
  struct Listing;

  [[nodiscard]] Make maker_for(const http::ApiTarget& target);
  [[nodiscard]] Make changer_for(const api::ApiRequest& request, const http::ApiTarget& target);
  [[nodiscard]] api::ApiAnswer answer_with(const api::ApiRequest& request, Make make);
  [[nodiscard]] std::string token_of(const api::ApiRequest& request) const;
  void answer_here(const api::ApiRequest& request, const Later& done);
  void collect(std::shared_ptr<api::ApiAnswer> answer, const Later& done);
  [[nodiscard]] static Result<std::shared_ptr<Listing>, http::ApiProblem> listing_of(
      const api::ApiRequest& request);
  [[nodiscard]] api::ApiAnswer list_alone(const api::ApiRequest& request);
  void list(const api::ApiRequest& request, const Later& done);
  void ask_lists(const std::shared_ptr<Listing>& listing);
  void merge(const std::shared_ptr<Listing>& listing);
  void overview(const api::ApiRequest& request, const Later& done);
  void nodes(const api::ApiRequest& request, const Later& done);
  void of_service(const ServiceName& name, const api::ApiRequest& request, const Later& done);
  void change_service(const ServiceName& name, const api::ApiRequest& request,
                      const std::string& token, const Later& done);
  void pass_on(const Peer& peer, const std::string& what, const std::string& target,
               const Later& done);

  std::string name_;
  Loop& loop_;
  api::ApiSource& own_;
  Peers& peers_;
  ServiceFinder finder_;
  ChangeRule change_;
  std::shared_ptr<int> asking_ = std::make_shared<int>(0);
  Lifetime alive_;
};

}  // namespace sluice::autoscaler
