#include "autoscaler/core/recording/replica_watch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

// What the looks said so far, `event replicas took`.
class Watched {
 public:
  std::string look(std::vector<ReplicaWatch::Seen> replicas) {
    std::string said;
    now_ += seconds{1};
    for (const ReplicaNote& note : watch_.look(replicas, now_)) {
      EXPECT_EQ(note.at, now_);
      said += std::string{name(note.event)} + " " + std::to_string(note.replicas) + " " +
              std::to_string(note.took / seconds{1}) + "; ";
    }
    return said;
  }

  void leaves(const std::string& replica) { watch_.leaves(replica); }

 private:
  ReplicaWatch watch_;
  TimePoint now_{seconds{1'700'000'000}};
};

TEST(ReplicaWatch, AStartIsNotedAndHowLongItTook) {
  Watched watched;
  EXPECT_EQ(watched.look({{"a"}, {"b"}}), "started 1 0; started 2 0; ");
  EXPECT_EQ(watched.look({{"a"}, {"b"}}), "");
  EXPECT_EQ(watched.look({{"a", true}, {"b"}}), "ready 2 2; ");
  EXPECT_EQ(watched.look({{"a", true}, {"b", true}, {"c", true}}),
            "ready 2 3; started 3 0; ready 3 0; ");
}

TEST(ReplicaWatch, AReplicaThatWasStoppedIsNotLost) {
  Watched watched;
  (void)watched.look({{"a", true}, {"b", true}, {"c", true}});
  watched.leaves("a");
  EXPECT_EQ(watched.look({{"a"}, {"b", true}, {"c", true}}), "");
  EXPECT_EQ(watched.look({{"b", true}, {"c", true}}), "gone 2 0; ");
  EXPECT_EQ(watched.look({{"c", true}}), "lost 1 0; ");
}

TEST(ReplicaWatch, OneThatIsLostAndComesBackStartsAgain) {
  Watched watched;
  (void)watched.look({{"a", true}});
  EXPECT_EQ(watched.look({{"a"}}), "lost 1 0; ");
  EXPECT_EQ(watched.look({{"a"}}), "");
  EXPECT_EQ(watched.look({{"a", true}}), "ready 1 2; ");
}

TEST(ReplicaWatch, AStartThatFailsIsNoLoss) {
  Watched watched;
  (void)watched.look({{"a"}});
  EXPECT_EQ(watched.look({}), "gone 0 0; ");
}

}  // namespace
}  // namespace sluice::autoscaler
