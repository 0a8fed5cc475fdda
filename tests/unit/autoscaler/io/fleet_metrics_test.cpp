#include "autoscaler/io/fleet_metrics.h"

#include "common/metrics/exposition.h"
#include "tests/unit/autoscaler/io/fleet_stage.h"

namespace sluice::autoscaler {
namespace {

const std::string kLabels =
    R"({k8s_namespace_name="shop",kn_service_name="web",kn_revision_name="web"} )";

class FleetMetrics : public FleetTest {
 protected:
  void has(const std::vector<std::string>& states, bool in_service = true) {
    model::Revision revision;
    revision.id = kShop;
    revision.service = "web";
    revision.in_service = in_service;
    add_pods(revision, states);
    fleet_.on_revision(std::move(revision));
  }

  // The value of a family's only series; "absent" when it has none.
  [[nodiscard]] std::string value(const std::string& family) const {
    std::string page;
    metrics::Exposition text{page};
    write_fleet_metrics(text, fleet_);
    const std::size_t at = page.find("\n" + family + kLabels);
    if (at == std::string::npos) return "absent";
    const std::size_t begin = at + 1 + family.size() + kLabels.size();
    return page.substr(begin, page.find('\n', begin) - begin);
  }
};

TEST_F(FleetMetrics, CountPodsByWhatTheyAre) {
  platform_.replicas = 5;
  has({"ready", "ready", "ready", "starting", "starting", "going"});

  EXPECT_EQ(value("kn_revision_pods_count"), "3");
  EXPECT_EQ(value("kn_revision_pods_pending_count"), "2");
  EXPECT_EQ(value("kn_revision_pods_terminating_count"), "1");
  EXPECT_EQ(value("kn_revision_pods_not_ready_count"), "3");
  EXPECT_EQ(value("kn_revision_pods_throttled"), "0");
}

TEST_F(FleetMetrics, OmitDecisionsWithoutData) {
  has({"ready"});
  evaluate();
  for (const char* family : {"kn_revision_pods_desired", "kn_revision_capacity_excess",
                             "kn_revision_panic_mode", "kn_revision_concurrency_stable"}) {
    EXPECT_EQ(value(family), "absent") << family;
  }

  load(140);
  EXPECT_EQ(value("kn_revision_pods_desired"), "2");
  EXPECT_EQ(value("kn_revision_pods_requested"), "2");
  EXPECT_EQ(value("kn_revision_concurrency_stable"), "140");
  EXPECT_EQ(value("kn_revision_concurrency_target"), "70");
  EXPECT_EQ(value("kn_revision_rps_stable"), "absent");
}

TEST_F(FleetMetrics, LeaveOutARevisionThatAnotherHasTakenThePlaceOf) {
  has({"ready"}, false);
  EXPECT_EQ(value("kn_revision_pods_count"), "absent");
}

}  // namespace
}  // namespace sluice::autoscaler
