#include "programs/sluice/commands/doctor_knative.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::commands {
namespace {

using Grade = KnativeLevel::Grade;

class DoctorKnativeTest : public ::testing::Test {
 protected:
  DoctorKnativeTest() {
    facts_.programs = {{"autoscaler", "1.15.2", "dev.local/autoscaler:1"}};
    facts_.autoscaler = kube::StringMap{};
    facts_.deployment = kube::StringMap{{"queue-sidecar-image", "dev.local/queue:1"}};
    facts_.network = kube::StringMap{};
    facts_.activators = kube::StringMap{{"app", "activator"}, {"role", "activator"}};
  }

  [[nodiscard]] KnativeLevel level(std::size_t number) const {
    return judge_knative(facts_, "0.8.0").levels.at(number);
  }

  KnativeFacts facts_;
};

TEST_F(DoctorKnativeTest, AKnownKnativeIsSafeAtEveryLevel) {
  const KnativeReport report = judge_knative(facts_, "0.8.0");
  EXPECT_TRUE(report.good());
  for (const KnativeLevel& each : report.levels) EXPECT_EQ(each.grade, Grade::safe) << each.name;
}

// Whether a level tells of something that `word` stands for.
bool tells(const KnativeLevel& level, const std::string& word) {
  return std::any_of(level.changes.begin(), level.changes.end(), [&](const std::string& change) {
    return change.find(word) != std::string::npos;
  });
}

TEST_F(DoctorKnativeTest, EachLevelSaysWhatChangesBeforeItSaysThatItIsSafe) {
  const KnativeReport report = judge_knative(facts_, "0.8.0");
  const std::string text = knative_text(report);
  for (const KnativeLevel& each : report.levels) {
    ASSERT_FALSE(each.changes.empty()) << each.name;
    const std::size_t verdict = text.find("\nsafe    " + each.name);
    ASSERT_NE(verdict, std::string::npos) << text;
    for (const std::string& change : each.changes) EXPECT_LT(text.find(change), verdict) << change;
  }
}

TEST_F(DoctorKnativeTest, WhatASidecarChangesGoesByTheContractOfTheRelease) {
  EXPECT_TRUE(tells(level(0), "revision_*"));
  EXPECT_TRUE(tells(level(0), "SERVING_ENABLE_REQUEST_LOG"));
  EXPECT_TRUE(tells(level(0), "timeoutSeconds bounds the time to the first byte only"));
  EXPECT_TRUE(tells(level(2), "activator_*"));

  facts_.programs[0].version = "1.19.1";
  EXPECT_TRUE(tells(level(0), "kn_*"));
  EXPECT_TRUE(tells(level(0), "OBSERVABILITY_CONFIG"));
  EXPECT_FALSE(tells(level(0), "first byte"));
  EXPECT_FALSE(tells(level(2), "activator_*"));
}

TEST_F(DoctorKnativeTest, UnderBothContractsWhatOursDoesDifferentlyIsNamed) {
  for (const char* version : {"1.15.2", "1.19.0"}) {
    facts_.programs[0].version = version;
    for (const std::size_t number : {0U, 2U}) {
      for (const char* word : {"broken off", "Retry-After", "Sluice-Error", "WebSocket", "405",
                               "traces are not exported", "request log"}) {
        EXPECT_TRUE(tells(level(number), word)) << version << " " << number << " " << word;
      }
    }
  }
}

TEST_F(DoctorKnativeTest, TheContractIsThatOfTheControllersRelease) {
  const auto contract = [this] {
    for (const auto& [name, value] : judge_knative(facts_, "0.8.0").facts) {
      if (name == "contract") return value;
    }
    return std::string{};
  };
  facts_.programs = {{"activator", "1.19.0", ""}, {"controller", "1.18.2", ""}};
  EXPECT_TRUE(contract().starts_with("that of 1.18 and before, since it is 1.18.2"));

  facts_.programs = {{"controller", "devel", ""}};
  EXPECT_TRUE(contract().starts_with("that of 1.19 and later, since no label names its release"));
}

TEST_F(DoctorKnativeTest, ALogTemplateThatOursDoesNotUnderstandIsNamed) {
  facts_.observability = kube::StringMap{{"logging.request-log-template", "{{.TraceID | js}}"}};
  EXPECT_TRUE(tells(level(0), "in the default template"));
  facts_.observability = kube::StringMap{
      {"logging.request-log-template", R"({{index .Request.Header "X-B3-Traceid"}})"}};
  EXPECT_FALSE(tells(level(0), "in the default template"));
}

TEST_F(DoctorKnativeTest, EachLevelNamesTheOneValueAndItsWayBack) {
  EXPECT_EQ(level(0).set, "config-deployment: queue-sidecar-image: sluice.dev/queue-proxy:0.8.0");
  EXPECT_EQ(level(0).restore, "config-deployment: queue-sidecar-image: dev.local/queue:1");
  EXPECT_EQ(level(1).restore,
            "config-autoscaler: pod-autoscaler-class: kpa.autoscaling.knative.dev");
  EXPECT_EQ(level(2).restore, "Service activator-service: selector app=activator,role=activator");
}

TEST_F(DoctorKnativeTest, WhatIsOursAlreadyIsSaidAndTheWayBackIsKnatives) {
  facts_.deployment = kube::StringMap{{"queue-sidecar-image", "registry:5000/queue-proxy:0.8.0"}};
  facts_.sidecar = "gcr.io/knative-releases/queue@sha256:1";
  facts_.autoscaler = kube::StringMap{{"pod-autoscaler-class", "kpa.sluice.dev"}};
  facts_.classes = {{"kpa.sluice.dev", 3}};
  facts_.stats = "autoscaler.sluice-system.svc.cluster.local";
  facts_.activators = kube::StringMap{{"app.kubernetes.io/name", "activator"},
                                      {"app.kubernetes.io/part-of", "sluice"}};
  EXPECT_EQ(level(0).now, "registry:5000/queue-proxy:0.8.0");
  EXPECT_EQ(level(0).restore,
            "config-deployment: queue-sidecar-image: gcr.io/knative-releases/queue@sha256:1");
  EXPECT_EQ(level(1).now,
            "revisions of our class: 3; revisions that come are of our class; stats go to "
            "autoscaler.sluice-system.svc.cluster.local");
  EXPECT_EQ(level(1).restore,
            "config-autoscaler: pod-autoscaler-class: kpa.autoscaling.knative.dev, and the same as "
            "annotation of the PodAutoscalers that are of our class, with "
            "autoscaling.knative.dev/metric=concurrency where that is empty; then Service "
            "autoscaler: type: ClusterIP");
  EXPECT_EQ(level(2).now, "requests go by our activators");
  EXPECT_EQ(level(2).restore, "Service activator-service: selector app=activator");
}

TEST_F(DoctorKnativeTest, AnImageThatKnativeBroughtIsNotOursWhateverItsName) {
  facts_.deployment = kube::StringMap{{"queue-sidecar-image", "mirror/queue-proxy:1.15"}};
  facts_.sidecar = "mirror/queue-proxy:1.15";
  EXPECT_EQ(level(0).now, "");
  EXPECT_EQ(level(0).restore, "config-deployment: queue-sidecar-image: mirror/queue-proxy:1.15");
}

TEST_F(DoctorKnativeTest, AnotherVersionAsksForCare) {
  facts_.programs[0].version = "1.9.0";
  EXPECT_EQ(level(1).grade, Grade::careful);
  EXPECT_TRUE(judge_knative(facts_, "0.8.0").good());
  facts_.programs[0].version.clear();
  EXPECT_NE(level(1).why.at(0).find("unknown"), std::string::npos);
}

TEST_F(DoctorKnativeTest, SettingsThatOursRefusesAreNamed) {
  facts_.autoscaler = kube::StringMap{{"stable-window", "1s"}};
  EXPECT_EQ(level(1).grade, Grade::unsafe);
  EXPECT_NE(level(1).why.at(0).find("stable-window"), std::string::npos);
  EXPECT_FALSE(judge_knative(facts_, "0.8.0").good());
}

TEST_F(DoctorKnativeTest, WithoutAWayBackALevelIsUnsafe) {
  facts_.activators.reset();
  EXPECT_EQ(level(2).grade, Grade::unsafe);
  facts_.deployment->clear();
  EXPECT_EQ(level(0).grade, Grade::unsafe);
}

TEST_F(DoctorKnativeTest, EncryptionAndMeshesAskForCareAndActivatorsHaveNoCertificates) {
  facts_.network = kube::StringMap{{"system-internal-tls", "Enabled"},
                                   {"enable-mesh-pod-addressability", "true"}};
  EXPECT_EQ(level(0).grade, Grade::careful);
  EXPECT_EQ(level(1).grade, Grade::safe);
  EXPECT_EQ(level(2).why.size(), 2U);
  EXPECT_EQ(level(2).grade, Grade::unsafe);  // no program gives our activators certificates
}

TEST_F(DoctorKnativeTest, RevisionsOfAnotherAutoscalerStayThere) {
  facts_.classes = {{"hpa.autoscaling.knative.dev", 2}, {"", 1}};
  EXPECT_EQ(level(1).grade, Grade::careful);
  const std::string text = knative_text(judge_knative(facts_, "0.8.0"));
  EXPECT_NE(text.find("1 of no class, 2 of hpa.autoscaling.knative.dev"), std::string::npos)
      << text;
}

TEST_F(DoctorKnativeTest, NoProgramsAreNoKnative) {
  facts_.programs.clear();
  EXPECT_FALSE(judge_knative(facts_, "0.8.0").good());
}

}  // namespace
}  // namespace sluice::commands
