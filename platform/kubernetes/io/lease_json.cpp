#include "platform/kubernetes/io/lease_json.h"

#include "common/kube/json_read.h"
#include "common/values/rfc3339.h"
#include "common/values/whole_number.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace sluice::autoscaler {
namespace {

using nlohmann::json;

constexpr std::int64_t kDurationSecondsMax = 86'400;

std::int64_t number(const json& object, const char* key, std::int64_t most) {
  return std::clamp<std::int64_t>(reading::whole(object, key).value_or(0), 0, most);
}

}  // namespace

std::optional<LeaseView> decode_lease(std::string_view bytes) {
  json object;
  if (!kube::parse_object(bytes, object)) return std::nullopt;
  const json& metadata = reading::member(object, "metadata");
  const json& spec = reading::member(object, "spec");
  LeaseView lease;
  lease.holder = reading::text(spec, "holderIdentity");
  lease.acquired = reading::text(spec, "acquireTime");
  lease.renewed = reading::text(spec, "renewTime");
  lease.duration = std::chrono::seconds{number(spec, "leaseDurationSeconds", kDurationSecondsMax)};
  lease.transitions = static_cast<std::int32_t>(
      number(spec, "leaseTransitions", std::numeric_limits<std::int32_t>::max() - 1));
  const json& annotations = reading::member(metadata, "annotations");
  lease.epoch =
      whole_number<std::uint64_t>(reading::text(annotations, kEpochAnnotation)).value_or(0);
  lease.version = reading::text(metadata, "resourceVersion");
  return lease;
}

std::string encode_lease(const LeaseStep& step, std::string_view space) {
  const LeaseView& lease = step.lease;
  const std::string now = rfc3339(step.at, Fraction::microseconds);
  json metadata{{"name", step.bucket},
                {"namespace", space},
                {"labels",
                 {{"app.kubernetes.io/name", "autoscaler"},
                  {"app.kubernetes.io/part-of", "sluice"},
                  {"app.kubernetes.io/managed-by", "sluice"}}},
                {"annotations", {{kEpochAnnotation, std::to_string(lease.epoch)}}}};
  if (step.kind == LeaseStep::Kind::replace) metadata["resourceVersion"] = lease.version;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(lease.duration).count();
  const json object{{"apiVersion", "coordination.k8s.io/v1"},
                    {"kind", "Lease"},
                    {"metadata", std::move(metadata)},
                    {"spec",
                     {{"holderIdentity", lease.holder},
                      {"leaseDurationSeconds", std::max<std::int64_t>(1, seconds)},
                      {"acquireTime", lease.acquired.empty() ? now : lease.acquired},
                      {"renewTime", now},
                      {"leaseTransitions", lease.transitions}}}};
  return object.dump();
}

}  // namespace sluice::autoscaler
