#include "platform/kubernetes/core/start_failure.h"

#include <algorithm>
#include <string_view>

namespace sluice::autoscaler {
namespace {

using Container = kube::Pod::Container;

constexpr std::string_view kCrashLoop = "CrashLoopBackOff";

// What shells add to a signal's number.
constexpr std::int32_t kSignalBase = 128;
constexpr std::int32_t kSignalMax = 64;

// What a peer wrote, for a response: visible ASCII, cut.
std::string printable(std::string_view text, std::size_t bytes_max) {
  std::string out;
  for (const char c : text) {
    if (out.size() == bytes_max) break;
    if (c > 0x20 && c < 0x7f) out += c;
  }
  return out;
}

std::optional<std::string> image_failure(const Container& container) {
  const std::string image = "image " + printable(container.image, kImageBytesMax);
  const std::string& why = container.waiting;
  if (why == "ErrImagePull" || why == "ImagePullBackOff" || why == "ImageInspectError" ||
      why == "RegistryUnavailable" || why == "SignatureValidationFailed") {
    return image + " cannot be pulled";
  }
  if (why == "InvalidImageName") return image + " has no valid name";
  if (why == "ErrImageNeverPull") {
    return image + " is not on the node, and its pull policy is Never";
  }
  return std::nullopt;
}

std::optional<std::string> creation_failure(const Container& container) {
  const std::string& why = container.waiting;
  if (why == "CreateContainerConfigError") {
    return "it cannot be configured (CreateContainerConfigError: a ConfigMap, a Secret or a key "
           "that it names is missing)";
  }
  if (why == "CreateContainerError" || why == "RunContainerError") {
    return "it cannot be started (" + why + ")";
  }
  return std::nullopt;
}

std::string ending(const Container::End& end) {
  std::string text = "it ends before it is ready: exit status " + std::to_string(end.exit_code);
  const std::int32_t signal = end.signal > 0 ? end.signal : end.exit_code - kSignalBase;
  const std::string reason = printable(end.reason, kSignalMax);
  if (!reason.empty() && reason != "Error" && reason != "Completed") {
    text += " (" + reason + ")";
  } else if (signal > 0 && signal <= kSignalMax) {
    text += " (signal " + std::to_string(signal) + ")";
  }
  return text;
}

// A run during which the pod became ready was no failed start, nor is one after it the third.
std::optional<std::string> crash_loop(const kube::Pod& pod, const Container& container) {
  const bool backs_off = container.waiting == kCrashLoop;
  if (!container.end) {
    return backs_off ? std::optional<std::string>{"it ends before it is ready"} : std::nullopt;
  }
  if (pod.ready_changed > container.end->began) return std::nullopt;
  const std::int64_t ended = std::int64_t{container.restarts} + (container.running ? 0 : 1);
  if (!backs_off && ended < kFailedStartsLeast) return std::nullopt;
  return ending(*container.end);
}

}  // namespace

std::optional<std::string> start_failure(const kube::Pod& pod) {
  if (pod.ready) return std::nullopt;
  for (const Container& container : pod.unready) {
    std::optional<std::string> why = image_failure(container);
    if (!why) why = creation_failure(container);
    if (!why) why = crash_loop(pod, container);
    if (why) return "container " + printable(container.name, kImageBytesMax) + ": " + *why;
  }
  return std::nullopt;
}

}  // namespace sluice::autoscaler
