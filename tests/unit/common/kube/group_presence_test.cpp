#include "common/kube/group_presence.h"

#include "tests/unit/common/kube/fake_api.h"

#include <gtest/gtest.h>

namespace sluice::kube {
namespace {

using testing::FakeApi;
using testing::json_reply;
using testing::Reply;
using testing::run_until;
using testing::Seen;

class KubeGroupPresence : public ::testing::Test {
 protected:
  void ask(Reply answer) {
    ask_of([answer = std::move(answer)](const Seen&) { return answer; });
  }

  void ask_of(FakeApi::Script script) {
    api_ = std::make_unique<FakeApi>(io_, std::move(script));
    client_ = *Client::make(io_, clock_, log_, api_->access());
    presence_ = std::make_unique<GroupPresence>(io_, *client_, "keda.sh");
    presence_->start([this](bool there) { told_ += there ? "there " : "absent "; });
  }

  [[nodiscard]] bool told() {
    return run_until(io_, [this] { return !told_.empty(); });
  }

  boost::asio::io_context io_;
  Clock clock_;
  log::Logger log_{"test", log::Severity::error};
  std::unique_ptr<FakeApi> api_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<GroupPresence> presence_;
  std::string told_;
};

TEST_F(KubeGroupPresence, IsReadFromTheListOfGroupsThatEveryAccountMayRead) {
  ask(json_reply(R"({"groups":[{"name":"apps"},{"name":"keda.sh"}]})"));

  ASSERT_TRUE(told());
  EXPECT_EQ(told_, "there ");
  EXPECT_TRUE(presence_->there());
  EXPECT_FALSE(presence_->absent());
  EXPECT_EQ(api_->seen()[0].target, "/apis");
}

TEST_F(KubeGroupPresence, AGroupWithTheSameSuffixIsAnother) {
  ask(json_reply(R"({"groups":[{"name":"eventing.keda.sh"}]})"));

  ASSERT_TRUE(told());
  EXPECT_EQ(told_, "absent ");
  EXPECT_TRUE(presence_->absent());
}

TEST_F(KubeGroupPresence, IsUnknownUntilThereIsAnAnswer) {
  ask(json_reply(R"({"kind":"Status","code":500})", 500));

  ASSERT_TRUE(run_until(io_, [this] { return client_->counts().failures == 1; }));
  io_.poll();
  EXPECT_EQ(told_, "");
  EXPECT_FALSE(presence_->there());
  EXPECT_FALSE(presence_->absent());
  EXPECT_NE(presence_->problem().find("500"), std::string::npos) << presence_->problem();
}

TEST_F(KubeGroupPresence, IsRequestedAgainUntilThereIsAnAnswer) {
  ask_of([this](const Seen&) {
    return api_->seen().size() < 3 ? json_reply(R"({"kind":"Status","code":503})", 503)
                                   : json_reply(R"({"groups":[{"name":"keda.sh"}]})");
  });

  ASSERT_TRUE(told());
  EXPECT_EQ(told_, "there ");
  EXPECT_EQ(presence_->problem(), "");
}

TEST_F(KubeGroupPresence, IsRequestedAtGrowingIntervals) {
  using std::chrono::milliseconds;
  EXPECT_EQ(GroupPresence::pause_after(1), milliseconds{100});
  EXPECT_EQ(GroupPresence::pause_after(2), milliseconds{200});
  EXPECT_EQ(GroupPresence::pause_after(6), milliseconds{3200});
  EXPECT_EQ(GroupPresence::pause_after(7), GroupPresence::kFailedPause);
  EXPECT_EQ(GroupPresence::pause_after(1'000'000), GroupPresence::kFailedPause);
}

TEST_F(KubeGroupPresence, MakesNoCallbackOnceItIsDestroyed) {
  ask(json_reply(R"({"groups":[{"name":"keda.sh"}]})"));

  presence_.reset();
  ASSERT_TRUE(run_until(io_, [this] { return api_->seen().size() == 1; }));
  io_.poll();

  EXPECT_EQ(told_, "");
}

}  // namespace
}  // namespace sluice::kube
