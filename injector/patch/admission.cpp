#include "injector/patch/admission.h"

#include "common/json/write.h"
#include "common/kube/base64.h"

#include <nlohmann/json.hpp>

#include "injector/patch/names.h"
#include "injector/patch/scaler_check.h"
#include <algorithm>
#include <set>

namespace sluice::injector {
namespace {

using Outcome = AdmissionAnswer::Result;

constexpr std::size_t kUidMax = 256;
constexpr int kUnprocessable = 422;

// As much as a person reads.
constexpr std::size_t kShownMax = 5;
constexpr std::size_t kSentenceMax = 400;
constexpr std::size_t kWarningMax = 240;

AdmissionAnswer garbled(const std::string& why) {
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
    response_["warnings"].push_back("sluice: " + text.substr(0, kWarningMax));
  }

  void deny(const Problem& why) {
    response_["allowed"] = false;
    response_["status"] = {
        {"code", kUnprocessable}, {"reason", "Invalid"}, {"message", why.text()}};
  }

  void patch(const std::string& steps) {
    response_["patchType"] = "JSONPatch";
    response_["patch"] = kube::encode_base64(steps);
  }

  [[nodiscard]] AdmissionAnswer answer(Outcome result, const std::string& name,
                                       const std::string& why) const {
    const Json review{{"apiVersion", "admission.k8s.io/v1"},
                      {"kind", "AdmissionReview"},
                      {"response", response_}};
    return {.status = 200,
            .body = json_line(review),
            .result = result,
            .about = space() + "/" + name + (why.empty() ? "" : ": " + why)};
  }

 private:
  [[nodiscard]] const char* wrong_review() const {
    if (!document_.is_object()) {
      return "the body is not a JSON object of at most 64 levels, 1024 keys each";
    }
    const bool known = injector::text(document_, "kind") == "AdmissionReview" &&
                       injector::text(document_, "apiVersion") == "admission.k8s.io/v1";
    if (!known) return "the body is not an AdmissionReview of admission.k8s.io/v1";
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

// How many are not shown.
std::string the_rest(std::size_t problems) {
  return "and " + std::to_string(problems - kShownMax) + " more";
}

// The first of them in one: a person mends them together.
Problem joined(const std::vector<Problem>& problems) {
  Problem all;
  for (std::size_t next = 0; next < std::min(problems.size(), kShownMax); ++next) {
    Problem each = problems[next];
    each.what.resize(std::min(each.what.size(), kSentenceMax));
    if (next == 0) {
      all = std::move(each);
    } else {
      all.fix += "; " + each.text();
    }
  }
  if (problems.size() > kShownMax) all.fix += "; " + the_rest(problems.size());
  return all;
}

void warn_of(Review& review, const std::vector<Problem>& problems) {
  for (std::size_t next = 0; next < std::min(problems.size(), kShownMax); ++next) {
    review.warn(problems[next].text());
  }
  if (problems.size() > kShownMax) review.warn(the_rest(problems.size()));
}

// Whether a changed object already had these errors: it may be older than this check, and a change
// of another field, such as the autoscaler's finalizer, must be accepted.
bool stood_before(const std::vector<Problem>& problems, const Json& before) {
  if (!before.is_object()) return false;
  std::set<std::string> old;
  for (const Problem& each : check_scaler(before)) old.insert(each.text());
  return std::all_of(problems.begin(), problems.end(),
                     [&old](const Problem& each) { return old.contains(each.text()); });
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
  const std::vector<Problem> wrong = check_scaler(scaler);
  if (!wrong.empty() && !stood_before(wrong, member(review.request(), "oldObject"))) {
    const Problem shown = joined(wrong);
    review.deny(shown);
    return review.answer(Outcome::refused, name, shown.what);
  }
  warn_of(review, wrong);
  const Json& target = member(member(scaler, "spec"), "targetRef");
  const std::string kind = text(target, "kind");
  const OwnerName workload{kind.empty() ? "Deployment" : kind, text(target, "name")};
  const std::string rival = rivals(review.space(), workload, name);
  if (!rival.empty()) {
    review.warn(workload.kind + " " + workload.name + " is scaled by RequestScaler " + rival +
                " already; one of the two is ignored and gets the condition Conflict");
  }
  return review.answer(Outcome::allowed, name, "");
}

}  // namespace sluice::injector
