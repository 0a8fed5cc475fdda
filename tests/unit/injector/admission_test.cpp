#include "injector/patch/admission.h"

#include "common/kube/base64.h"
#include "tests/unit/injector/pods.h"

#include <gtest/gtest.h>

namespace sluice::injector {
namespace {

using Result = AdmissionAnswer::Result;

std::string review_of(const Json& object) {
  return Json{{"apiVersion", "admission.k8s.io/v1"},
              {"kind", "AdmissionReview"},
              {"request", {{"uid", "u-1"}, {"namespace", "shop"}, {"object", object}}}}
      .dump();
}

std::optional<ScalerFacts> no_scaler(const std::string&, const OwnerName&) {
  return std::nullopt;
}

std::string no_rival(const std::string&, const OwnerName&, const std::string&) {
  return {};
}

Json response_of(const AdmissionAnswer& answer) {
  return answer.status == 200 ? Json::parse(answer.body)["response"] : Json(answer.body);
}

Json pod_of_deployment() {
  Json pod = plain_pod();
  pod["metadata"]["labels"]["pod-template-hash"] = "5f";
  pod["metadata"]["ownerReferences"] =
      Json::parse(R"([{"kind": "ReplicaSet", "name": "shop-5f", "controller": true}])");
  return pod;
}

TEST(Mutation, EchoesTheUidAndPatchesAsInjectDoes) {
  const Json pod = pod_of_deployment();

  const AdmissionAnswer answer = answer_mutation(review_of(pod), no_scaler, usual_settings());

  EXPECT_EQ(answer.result, Result::patched);
  const Json response = response_of(answer);
  EXPECT_EQ(response["uid"], "u-1");
  EXPECT_EQ(response["allowed"], true);
  EXPECT_EQ(response["patchType"], "JSONPatch");
  EXPECT_EQ(response["patch"], kube::encode_base64(json_patch(pod, injected(pod))));
}

TEST(Mutation, OfAnInjectedPodHasNoPatch) {
  const AdmissionAnswer answer =
      answer_mutation(review_of(injected(plain_pod())), no_scaler, usual_settings());
  EXPECT_EQ(answer.result, Result::skipped);
  EXPECT_FALSE(response_of(answer).contains("patch"));
  EXPECT_EQ(response_of(answer)["allowed"], true);
}

TEST(Mutation, AsksForTheScalerOfTheDeployment) {
  std::string asked;
  const auto find = [&](const std::string& space, const OwnerName& target) {
    asked = space + " " + target.kind + " " + target.name;
    return std::optional<ScalerFacts>{};
  };
  (void)answer_mutation(review_of(pod_of_deployment()), find, usual_settings());
  EXPECT_EQ(asked, "shop Deployment shop");
}

TEST(Mutation, RefusesAPodThatWasMeantAndWarnsOfAnother) {
  Json pod = plain_pod();
  pod["spec"]["containers"][0].erase("ports");
  const AdmissionAnswer warned = answer_mutation(review_of(pod), no_scaler, usual_settings());
  EXPECT_EQ(warned.result, Result::skipped);
  EXPECT_EQ(response_of(warned)["allowed"], true);
  EXPECT_EQ(response_of(warned)["warnings"].size(), 1U);

  const auto scaled = [](const std::string&, const OwnerName&) {
    return std::optional{ScalerFacts{.name = "a", .service = "a"}};
  };
  const Json by_scaler = response_of(answer_mutation(review_of(pod), scaled, usual_settings()));
  pod["metadata"]["labels"]["sluice.dev/inject"] = "true";
  const Json by_label = response_of(answer_mutation(review_of(pod), no_scaler, usual_settings()));
  for (const Json& response : {by_scaler, by_label}) {
    EXPECT_EQ(response["allowed"], false);
    EXPECT_EQ(response["status"]["code"], 422);
    EXPECT_NE(text(response["status"], "message").find("sluice.dev/port"), std::string::npos);
  }
}

TEST(Mutation, OfNonsenseIsABadRequest) {
  for (
      const char* body :
      {"", "{", "[]", "{}",
       R"({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1"})",
       R"({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"})",
       R"({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": "a"}})"}) {
    const AdmissionAnswer answer = answer_mutation(body, no_scaler, usual_settings());
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_EQ(answer.result, Result::garbled) << body;
  }
  const std::string deep(1'000'000, '[');
  EXPECT_EQ(answer_mutation(deep, no_scaler, usual_settings()).status, 400);
}

// A review of a plain pod with one piece of its text replaced: large documents are slow to build.
std::string review_with(const std::string& piece, const std::string& instead) {
  std::string review = review_of(plain_pod());
  return review.replace(review.find(piece), piece.size(), instead);
}

// Goal: no review of 3 MiB delays the reviews of others. Method: sizes at which a parser that looks
// at all earlier items for each one takes minutes.
TEST(Mutation, OfALongListIsAnsweredInTimeThatGrowsWithIt) {
  std::string tolerations = "{}";
  for (int more = 1; more < 150'000; ++more) tolerations += ",{}";
  const std::string review =
      review_with(R"("containers":)", R"("tolerations":[)" + tolerations + R"(],"containers":)");

  const AdmissionAnswer answer = answer_mutation(review, no_scaler, usual_settings());

  EXPECT_EQ(answer.result, Result::patched);
}

std::string labelled_review(int labels) {
  std::string all = R"("app": "a: \"b: c")";
  for (int label = 1; label < labels; ++label) all += ",\"l" + std::to_string(label) + "\":\"\"";
  return review_with(R"({"app":"shop"})", "{" + all + "}");
}

TEST(Mutation, OfAnObjectOfMoreKeysThanAnyHasIsABadRequest) {
  const auto answered = [](int labels) {
    return answer_mutation(labelled_review(labels), no_scaler, usual_settings()).result;
  };
  EXPECT_EQ(answered(1024), Result::patched);
  EXPECT_EQ(answered(1025), Result::garbled);
  EXPECT_EQ(answered(100'000), Result::garbled);
}

TEST(Mutation, OfAPodAsLargeAsTheyComeIsAnswered) {
  Json pod = plain_pod();
  Json& variables = pod["spec"]["containers"][0]["env"];
  for (int at = 0; at < 5000; ++at) {
    variables.push_back({{"name", "A_" + std::to_string(at)}, {"value", "{\"a\": [1, {}]}"}});
  }
  for (int at = 0; at < 500; ++at) {
    pod["metadata"]["annotations"]["example.com/a-" + std::to_string(at)] = std::string(500, ':');
  }
  EXPECT_EQ(answer_mutation(review_of(pod), no_scaler, usual_settings()).result, Result::patched);
}

Json scaler(const char* spec, const char* annotations = "{}") {
  Json document = Json::parse(R"({"metadata": {"name": "a"}})");
  document["metadata"]["annotations"] = Json::parse(annotations);
  document["spec"] = Json::parse(spec);
  return document;
}

std::string validated(const Json& document) {
  const AdmissionAnswer answer = answer_validation(review_of(document), no_rival);
  const Json response = response_of(answer);
  return response["allowed"] == true ? "allowed" : text(response["status"], "message");
}

TEST(Validation, ComparesSpecKeysWithAnnotations) {
  EXPECT_EQ(validated(scaler(R"({"targetRef": {"name": "b"}})")), "allowed");
  EXPECT_EQ(validated(scaler(R"({"autoscaling": {"min": 5}})",
                             R"({"autoscaling.knative.dev/max-scale": "3"})")),
            "autoscaling.knative.dev/max-scale \"3\" is below spec.autoscaling.min \"5\"; "
            "accepted: a whole number from 5 to 2147483647, or 0 for none");
  EXPECT_EQ(validated(scaler(R"({"autoscaling": {"min": 5, "max": 9}})",
                             R"({"autoscaling.knative.dev/max-scale": "3"})")),
            "allowed");
  EXPECT_EQ(validated(scaler("{}", R"({"autoscaling.knative.dev/min-scale": "many"})")),
            "autoscaling.knative.dev/min-scale \"many\" is not a whole number of 32 bits; "
            "accepted: a whole number from 0 to 2147483647");
}

TEST(Validation, RefusesWhateverTheAutoscalerWould) {
  EXPECT_EQ(
      validated(scaler("{}", R"({"autoscaling.knative.dev/window": "1s"})")),
      "autoscaling.knative.dev/window \"1s\" is out of range; accepted: whole seconds from 6s "
      "to 1h");
  EXPECT_EQ(
      validated(scaler(R"({"autoscaling": {"metric": "cpu", "targetBurstCapacity": -2}})")),
      "spec.autoscaling.targetBurstCapacity \"-2\" is out of range; accepted: a number of 0 or "
      "more, or -1 for unlimited; spec.autoscaling.metric \"cpu\" is not a metric of class "
      "kpa.autoscaling.knative.dev; accepted: concurrency or rps");
  EXPECT_EQ(validated(scaler("{}", R"({"autoscaling.sluice.dev/burst": "1"})")),
            "autoscaling.sluice.dev/burst \"1\" is an unknown setting; accepted: "
            "autoscaling.sluice.dev/burst-capacity-hysteresis, "
            "autoscaling.sluice.dev/ignore-paths, autoscaling.sluice.dev/ignore-user-agents");
}

TEST(Validation, LeavesToTheAutoscalerWhatTheClusterMayAllow) {
  EXPECT_EQ(validated(scaler(R"({"autoscaling": {"initialScale": 0, "max": 100000}})")), "allowed");
  EXPECT_EQ(validated(scaler("{}", R"({"example.com/min-scale": "many"})")), "allowed");
}

Json changed(const Json& before, const Json& after) {
  Json review = Json::parse(review_of(after));
  review["request"]["oldObject"] = before;
  return response_of(answer_validation(review.dump(), no_rival));
}

TEST(Validation, OfAChangeRefusesWhatIsNewlyWrongAndWarnsOfTheRest) {
  const char* const wrong = R"({"autoscaling.knative.dev/window": "1s"})";
  const Json stands = scaler("{}", wrong);
  Json finalized = stands;
  finalized["metadata"]["finalizers"] = {"sluice.dev/service"};

  const Json kept = changed(stands, finalized);
  EXPECT_EQ(kept["allowed"], true);
  EXPECT_EQ(kept["warnings"].size(), 1U);
  EXPECT_EQ(changed(scaler("{}"), stands)["allowed"], false);
  EXPECT_EQ(changed(stands, scaler("{}", R"({"autoscaling.knative.dev/window": "2s"})"))["allowed"],
            false);
}

// One scaler with so many settings that are unknown.
Json wrong_in(const std::string& letters) {
  Json document = scaler("{}");
  for (const char letter : letters) {
    document["metadata"]["annotations"][std::string{"autoscaling.sluice.dev/"} + letter] = "1";
  }
  return document;
}

TEST(Validation, LetsAnObjectBeMendedInPartHoweverMuchIsWrong) {
  const Json mended = changed(wrong_in("abcdefg"), wrong_in("bcdefg"));

  EXPECT_EQ(mended["allowed"], true);
  EXPECT_EQ(mended["warnings"].size(), 6U);
  EXPECT_EQ(mended["warnings"][5], "sluice: and 1 more");
  EXPECT_EQ(changed(wrong_in("abcdefg"), wrong_in("abcdefz"))["allowed"], false);
}

TEST(Validation, ShowsTheFirstOfManyProblemsAndCountsTheRest) {
  const std::string said = validated(wrong_in("abcdefg"));
  EXPECT_NE(said.find("sluice.dev/e "), std::string::npos) << said;
  EXPECT_EQ(said.find("sluice.dev/f "), std::string::npos) << said;
  EXPECT_TRUE(said.ends_with("; and 2 more")) << said;
}

TEST(Validation, SaysNoMoreThanAPersonReads) {
  const Json long_value = {
      {"metadata",
       {{"name", "a"},
        {"annotations", {{"autoscaling.knative.dev/window", std::string(100'000, 'x')}}}}}};
  EXPECT_LT(validated(long_value).size(), 1000U);
}

TEST(Validation, NeverKeepsAnObjectFromGoing) {
  Json document = scaler("{}", R"({"autoscaling.knative.dev/min-scale": "many"})");
  document["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  EXPECT_EQ(validated(document), "allowed");
}

TEST(Validation, WarnsOfAnotherScalerOfTheSameTarget) {
  const auto rival = [](const std::string&, const OwnerName& target, const std::string& name) {
    return target == OwnerName{"Deployment", "b"} && name == "a" ? std::string{"c"} : std::string{};
  };
  const Json response =
      response_of(answer_validation(review_of(scaler(R"({"targetRef": {"name": "b"}})")), rival));
  EXPECT_EQ(response["allowed"], true);
  EXPECT_EQ(response["warnings"].size(), 1U);
}

TEST(Base64, PadsAsItShould) {
  EXPECT_EQ(kube::encode_base64(""), "");
  EXPECT_EQ(kube::encode_base64("f"), "Zg==");
  EXPECT_EQ(kube::encode_base64("fo"), "Zm8=");
  EXPECT_EQ(kube::encode_base64("foo"), "Zm9v");
  EXPECT_EQ(kube::encode_base64("foob"), "Zm9vYg==");
}

}  // namespace
}  // namespace sluice::injector
