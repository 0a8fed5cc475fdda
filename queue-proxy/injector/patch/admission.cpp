#include "queue-proxy/injector/patch/admission.h"

#include "queue-proxy/injector/patch/base64_text.h"
#include "queue-proxy/injector/patch/names.h"

#include <nlohmann/json.hpp>

#include <limits>

namespace sluice::injector {
namespace {

using Outcome = AdmissionAnswer::Result;

constexpr std::size_t kUidMax = 256;
constexpr int kUnprocessable = 422;

std::string dumped(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

AdmissionAnswer garbled(std::string why) {
  return {.status = 400, .body = why + "\n", .result = Outcome::garbled, .about = why};
}

/// A review that was understood, and the answer to it while it grows.
class Review {
 public:
  // A problem: what came is none.
  explicit Review(std::string_view text) {
    auto document = parse_json(text);
    if (document) document_ = std::move(*document);
    problem_ = wrong_review();
    response_ = {{"uid", injector::text(request(), "uid")}, {"allowed", true}};
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }

  [[nodiscard]] const Json& request() const { return member(document_, "request"); }

  [[nodiscard]] const Json& object() const { return member(request(), "object"); }

  [[nodiscard]] std::string space() const {
    const std::string of_request = injector::text(request(), "namespace");
    return of_request.empty() ? injector::text(member(object(), "metadata"), "namespace")
                              : of_request;
  }

  void warn(const std::string& text) {
    response_["warnings"].push_back("sluice: " + text.substr(0, 240));
  }

  void deny(const Problem& why) {
    response_["allowed"] = false;
    response_["status"] = {
        {"code", kUnprocessable}, {"reason", "Invalid"}, {"message", why.text()}};
  }

  void patch(const std::string& steps) {
    response_["patchType"] = "JSONPatch";
    response_["patch"] = base64_text(steps);
  }

  [[nodiscard]] AdmissionAnswer answer(Outcome result, const std::string& name,
                                       const std::string& why) const {
    const Json review{{"apiVersion", "admission.k8s.io/v1"},
                      {"kind", "AdmissionReview"},
                      {"response", response_}};
    return {.status = 200,
            .body = dumped(review),
            .result = result,
            .about = space() + "/" + name + (why.empty() ? "" : ": " + why)};
  }

 private:
  [[nodiscard]] const char* wrong_review() const {
    if (!document_.is_object()) return "the body is no JSON object";
    const bool known = injector::text(document_, "kind") == "AdmissionReview" &&
                       injector::text(document_, "apiVersion") == "admission.k8s.io/v1";
    if (!known) return "the body is no AdmissionReview of admission.k8s.io/v1";
    const std::string uid = injector::text(request(), "uid");
    if (uid.empty() || uid.size() > kUidMax) return "request.uid is missing";
    return object().is_object() ? "" : "request.object is missing";
  }

  Json document_;
  Json response_;
  std::string problem_;
};

std::string pod_name(const Json& pod) {
  const Json& metadata = member(pod, "metadata");
  const std::string name = text(metadata, "name");
  return name.empty() ? text(metadata, "generateName") : name;
}

/// A scaling value by its annotation and its spec key.
struct Bound {
  const char* annotation;
  const char* key;
};

// The spec key wins over the annotation; nothing when neither is there. A problem: no such number.
Result<std::optional<long>, Problem> bound(const Json& scaler, const Bound& names) {
  const Json& scaling = member(member(scaler, "spec"), "autoscaling");
  if (const auto number = integer(scaling, names.key)) return number;
  const Json& annotations = member(member(scaler, "metadata"), "annotations");
  const std::string key = std::string{"autoscaling.knative.dev/"} + names.annotation;
  if (member(annotations, key).is_null()) return std::optional<long>{};
  const auto number = digits(text(annotations, key), 0, std::numeric_limits<std::int32_t>::max());
  if (number) return number;
  return Problem{"annotation " + key + " is `" + text(annotations, key).substr(0, 80) + "`",
                 std::string{"give a whole number, or use spec.autoscaling."} + names.key};
}

std::optional<Problem> wrong_scaler(const Json& scaler) {
  const auto least = bound(scaler, {"min-scale", "min"});
  if (!least) return least.error();
  const auto most = bound(scaler, {"max-scale", "max"});
  if (!most) return most.error();
  const auto first = bound(scaler, {"initial-scale", "initialScale"});
  if (!first) return first.error();
  const long ceiling = most->value_or(0);
  if (ceiling > 0 && least->value_or(0) > ceiling) {
    return Problem{"the least number of replicas, " + std::to_string(**least) +
                       ", is above the most, " + std::to_string(ceiling),
                   "lower spec.autoscaling.min (annotation min-scale) or raise max (max-scale)"};
  }
  return std::nullopt;
}

}  // namespace

AdmissionAnswer answer_mutation(std::string_view review_text, const ScalerLookup& scalers,
                                const InjectionSettings& settings) {
  Review review{review_text};
  if (!review.problem().empty()) return garbled(review.problem());
  const Json& before = review.object();
  const std::string name = pod_name(before);
  const OwnerName target = owner_of(before);
  PodOwner owner{.name = target.name, .scaler = scalers(review.space(), target)};
  const std::string label = text(member(member(before, "metadata"), "labels"), kInjectLabel);
  const bool meant = owner.scaler.has_value() || label == "true";
  Json after = before;
  const Verdict verdict = inject(after, owner, settings);
  switch (verdict.kind) {
    case Verdict::Kind::patched:
      review.patch(json_patch(before, after));
      return review.answer(Outcome::patched, name, "");
    case Verdict::Kind::skipped:
      return review.answer(Outcome::skipped, name, verdict.why.what);
    case Verdict::Kind::refused:
      break;
  }
  if (meant) {
    review.deny({"sluice cannot add its sidecar: " + verdict.why.what, verdict.why.fix});
    return review.answer(Outcome::refused, name, verdict.why.what);
  }
  review.warn("no sidecar: " + verdict.why.text());
  return review.answer(Outcome::skipped, name, verdict.why.what);
}

AdmissionAnswer answer_validation(std::string_view review_text, const RivalLookup& rivals) {
  Review review{review_text};
  if (!review.problem().empty()) return garbled(review.problem());
  const Json& scaler = review.object();
  const std::string name = text(member(scaler, "metadata"), "name");
  // Whatever is wrong with one that is being deleted, its finalizers have to go.
  const bool going = !member(member(scaler, "metadata"), "deletionTimestamp").is_null();
  if (going) return review.answer(Outcome::allowed, name, "");
  if (const auto wrong = wrong_scaler(scaler)) {
    review.deny(*wrong);
    return review.answer(Outcome::refused, name, wrong->what);
  }
  const Json& target = member(member(scaler, "spec"), "targetRef");
  const std::string kind = text(target, "kind");
  const OwnerName workload{kind.empty() ? "Deployment" : kind, text(target, "name")};
  const std::string rival = rivals(review.space(), workload, name);
  if (!rival.empty()) {
    review.warn(workload.kind + " " + workload.name + " is scaled by RequestScaler " + rival +
                " already; one of the two will stand still with the condition Conflict");
  }
  return review.answer(Outcome::allowed, name, "");
}

}  // namespace sluice::injector
