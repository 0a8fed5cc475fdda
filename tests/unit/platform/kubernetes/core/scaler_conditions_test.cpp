#include "platform/kubernetes/core/scaler_conditions.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

constexpr TimePoint kStart{seconds{1'700'000'000}};

class ConditionsTest : public ::testing::Test {
 protected:
  ConditionsTest() {
    scaler_.generation = 3;
    view_.scaler = &scaler_;
    view_.pods = true;
    view_.report =
        ScaleReport{.desired = 1, .granted = 1, .ready = 1, .activity = Activity::active};
  }

  // `status reason` of a condition.
  [[nodiscard]] std::string shown(const char* type) const {
    const auto all = conditions_of(view_, kStart);
    const auto found = std::find_if(all.begin(), all.end(),
                                    [type](const auto& each) { return each.type == type; });
    return found == all.end() ? "none" : found->status + " " + found->reason;
  }

  kube::RequestScaler scaler_;
  ConditionView view_;
};

TEST_F(ConditionsTest, AllIsWellWithoutAProblem) {
  EXPECT_EQ(shown("Ready"), "True Serving");
  EXPECT_EQ(shown("Active"), "True Serving");
  EXPECT_EQ(shown("Target"), "True Found");
  EXPECT_EQ(shown("Conflict"), "False NoConflict");
  EXPECT_EQ(shown("Service"), "True Routed");
  EXPECT_EQ(shown("Sidecar"), "True Injected");
  EXPECT_EQ(shown("Metrics"), "True Reported");
  EXPECT_EQ(shown("Settings"), "True Valid");
}

TEST_F(ConditionsTest, AScalerAtZeroIsReady) {
  view_.report->activity = Activity::inactive;
  EXPECT_EQ(shown("Ready"), "True Sleeping");
  EXPECT_EQ(shown("Active"), "False NoTraffic");
}

TEST_F(ConditionsTest, AScalerWithAChosenNumberIsPausedAndNamesHowToResume) {
  view_.report->paused = true;
  EXPECT_EQ(shown("Ready"), "True Paused");
  EXPECT_EQ(shown("Active"), "True Paused");
  EXPECT_NE(conditions_of(view_, kStart)[0].message.find("/spec/replicas"), std::string::npos);

  view_.report->activity = Activity::activating;
  EXPECT_EQ(shown("Active"), "Unknown Paused");

  view_.report->activity = Activity::inactive;
  EXPECT_EQ(shown("Active"), "False Paused");

  view_.target = Trouble{"TargetMissing", "w", "f"};
  EXPECT_EQ(shown("Ready"), "False TargetMissing");
}

TEST_F(ConditionsTest, ReadyNamesTheFirstProblemThatDoesNotEndByItself) {
  view_.target = Trouble{"TargetMissing", "w", "f"};
  view_.service = Trouble{"ServiceHasSelector", "w", "f"};
  EXPECT_EQ(shown("Ready"), "False TargetMissing");

  view_.target->waiting = true;
  EXPECT_EQ(shown("Ready"), "False ServiceHasSelector");

  view_.service.reset();
  EXPECT_EQ(shown("Ready"), "Unknown TargetMissing");
}

TEST_F(ConditionsTest, EachProblemHasItsOwnCondition) {
  view_.conflict = Trouble{"TargetConflict", "w", "f"};
  view_.sidecar = Trouble{"SidecarMissing", "w", "f"};
  view_.settings = Trouble{"InvalidAnnotation", "w", "f"};
  view_.report->metrics_missing = true;

  EXPECT_EQ(shown("Conflict"), "True TargetConflict");
  EXPECT_EQ(shown("Sidecar"), "False SidecarMissing");
  EXPECT_EQ(shown("Settings"), "False InvalidAnnotation");
  EXPECT_EQ(shown("Metrics"), "False MetricsMissing");
}

TEST_F(ConditionsTest, PodsThatFailToStartMakeItUnreadyAndTheirCauseIsNamed) {
  view_.report->ready = 0;
  view_.report->activity = Activity::activating;
  view_.report->start_failed = "container app: image web:1 cannot be pulled";

  EXPECT_EQ(shown("Ready"), "False StartFailed");
  EXPECT_EQ(shown("Active"), "Unknown StartFailed");
  EXPECT_NE(conditions_of(view_, kStart)[0].message.find("image web:1 cannot be pulled"),
            std::string::npos);

  view_.service = Trouble{"Routing", "w", "", true};
  EXPECT_EQ(shown("Ready"), "False StartFailed");
  view_.target = Trouble{"TargetMissing", "w", "f"};
  EXPECT_EQ(shown("Ready"), "False TargetMissing");
}

TEST_F(ConditionsTest, AWrongAnnotationDoesNotMakeItUnready) {
  view_.settings = Trouble{"InvalidAnnotation", "w", "f"};
  EXPECT_EQ(shown("Ready"), "True Serving");
}

TEST_F(ConditionsTest, AMissingPermissionIsNamedFirst) {
  view_.access = Trouble{"Forbidden", "cannot patch deployments/scale", "f"};
  view_.target = Trouble{"TargetMissing", "w", "f"};
  EXPECT_EQ(shown("Ready"), "False Forbidden");
  EXPECT_EQ(shown("Target"), "False Forbidden");
}

TEST_F(ConditionsTest, ATerminatingNamespaceIsNotAMissingRule) {
  view_.access = refused_write(
      "endpointslices.discovery.k8s.io \"web-1\" is forbidden: unable to create new content in "
      "namespace shop because it is being terminated");
  EXPECT_EQ(shown("Ready"), "Unknown NamespaceTerminating");
  EXPECT_EQ(conditions_of(view_, kStart)[0].message.find("rules of the chart"), std::string::npos);

  view_.access = refused_write("User \"a\" cannot patch resource \"services\"");
  EXPECT_EQ(shown("Ready"), "False Forbidden");
}

TEST_F(ConditionsTest, BeforeTheFirstDecisionMuchIsUnknown) {
  view_.report.reset();
  EXPECT_EQ(shown("Ready"), "Unknown Starting");
  EXPECT_EQ(shown("Active"), "Unknown Starting");
  EXPECT_EQ(shown("Metrics"), "Unknown Starting");
}

TEST_F(ConditionsTest, TheTimeOfATransitionStaysUntilTheStatusChanges) {
  scaler_.status.conditions = conditions_of(view_, kStart);
  view_.report->activity = Activity::inactive;

  const auto later = conditions_of(view_, kStart + seconds{60});

  EXPECT_EQ(later[0].reason, "Sleeping");
  EXPECT_EQ(later[0].last_transition_time, scaler_.status.conditions[0].last_transition_time);
  EXPECT_NE(later[1].last_transition_time, scaler_.status.conditions[1].last_transition_time);
}

TEST_F(ConditionsTest, FiguresOfTheLoadDoNotChangeConditions) {
  view_.report->cannot_scale = "12 MiB free";
  const auto before = conditions_of(view_, kStart);
  scaler_.status.conditions = before;
  view_.report->cannot_scale = "13 MiB free";
  view_.report->why = "another sentence";

  EXPECT_EQ(conditions_of(view_, kStart + seconds{5}), before);
}

}  // namespace
}  // namespace sluice::autoscaler
