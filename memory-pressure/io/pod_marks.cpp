#include "memory-pressure/io/pod_marks.h"

#include "memory-pressure/io/kernel_file.h"

namespace sluice::node_agent {
namespace {

constexpr std::int64_t kCriticalScore = -997;  // the kubelet's, of critical and guaranteed pods
constexpr std::int64_t kSharesOfOneCpu = 1024;
constexpr std::int64_t kSharesOfNothing = 2;  // the kernel's least: no request

// A pod's annotation, or, where the sandbox has none, the container's own.
std::string_view annotation(const PodFacts& facts, const std::string& key) {
  const auto look = [&key](const cri::Marks& marks) -> std::string_view {
    const auto at = marks.find(key);
    return at == marks.end() ? std::string_view{} : std::string_view{at->second};
  };
  const std::string_view own = look(facts.container->annotations);
  if (!own.empty() || facts.sandbox == nullptr) return own;
  return look(facts.sandbox->annotations);
}

std::string_view label(const PodFacts& facts, const std::string& key) {
  for (const cri::Marks* marks :
       {&facts.container->labels, facts.sandbox != nullptr ? &facts.sandbox->labels : nullptr}) {
    if (marks == nullptr) continue;
    const auto at = marks->find(key);
    if (at != marks->end()) return at->second.empty() ? std::string_view{"?"} : at->second;
  }
  return {};
}

// Of the pod of a Job: its name. The second is from before Kubernetes 1.27.
std::string_view job_of(const PodFacts& facts) {
  const std::string_view name = label(facts, "batch.kubernetes.io/job-name");
  return name.empty() ? label(facts, "job-name") : name;
}

bool is_static(const PodFacts& facts) {
  const std::string_view source = annotation(facts, "kubernetes.io/config.source");
  return (!source.empty() && source != "api") ||
         !annotation(facts, "kubernetes.io/config.mirror").empty();
}

bool is_critical(const PodFacts& facts, QosClass qos) {
  if (!annotation(facts, "scheduler.alpha.kubernetes.io/critical-pod").empty()) return true;
  const std::string_view priority = annotation(facts, "priorityClassName");
  if (priority.starts_with("system-")) return true;
  return facts.resources != nullptr && qos != QosClass::guaranteed &&
         facts.resources->oom_score_adj <= kCriticalScore;
}

bool is_ours(const PodFacts& facts) {
  return facts.own_cgroup.size() > 1 && facts.cgroup == facts.own_cgroup;
}

bool is_init(const std::string& name) {
  return name == "init" || name.starts_with("init-") || name.ends_with("-init");
}

bool has_exclusive_cpus(const PodFacts& facts, QosClass qos) {
  if (qos != QosClass::guaranteed || facts.resources == nullptr) return false;
  const int cpus = cpus_in(facts.resources->cpuset);
  return cpus > 0 && facts.resources->cpu_shares == cpus * kSharesOfOneCpu;
}

}  // namespace

int cpus_in(std::string_view list) {
  std::int64_t count = 0;
  while (!list.empty()) {
    const std::size_t end = list.find(',');
    const std::string_view part = list.substr(0, end);
    const std::size_t dash = part.find('-');
    const auto first = first_number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : first_number(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last > 1'000'000) return 0;
    count += *last - *first + 1;
    if (end == std::string_view::npos) break;
    list.remove_prefix(end + 1);
  }
  return static_cast<int>(count);
}

QosClass qos_of(const PodFacts& facts) {
  if (facts.cgroup.find("besteffort") != std::string_view::npos) return QosClass::best_effort;
  if (facts.cgroup.find("burstable") != std::string_view::npos) return QosClass::burstable;
  // The kubelet gives guaranteed pods no group of their class.
  if (facts.cgroup.find("kubepods") != std::string_view::npos) return QosClass::guaranteed;
  if (facts.resources == nullptr) return QosClass::best_effort;
  const cri::Resources& given = *facts.resources;
  const bool cpu_limit = given.cpu_quota_us > 0 && given.cpu_period_us > 0;
  if (given.memory_limit > 0 && cpu_limit) {
    const std::int64_t limit = given.cpu_quota_us * kSharesOfOneCpu / given.cpu_period_us;
    if (given.cpu_shares > 0 && limit == given.cpu_shares) return QosClass::guaranteed;
  }
  const bool nothing =
      given.memory_limit == 0 && !cpu_limit && given.cpu_shares <= kSharesOfNothing;
  return nothing ? QosClass::best_effort : QosClass::burstable;
}

// A CronJob names its Jobs by the minute, and people number theirs: `backup-28401120`, `train-7`.
std::string job_template_of(const PodFacts& facts) {
  std::string_view name = job_of(facts);
  while (true) {
    const std::size_t dash = name.rfind('-');
    if (dash == std::string_view::npos || dash == 0 || dash + 1 == name.size()) break;
    const std::string_view last = name.substr(dash + 1);
    if (last.find_first_not_of("0123456789") != std::string_view::npos) break;
    name = name.substr(0, dash);
  }
  return std::string{name};
}

Marks marks_of(const PodFacts& facts) {
  const QosClass qos = qos_of(facts);
  const std::string& name = facts.container->name;
  const std::string_view injected = annotation(facts, "sluice.dev/injected");
  Marks marks;
  marks.never = annotation(facts, "sluice.dev/throttle") == "never";
  marks.holds_lock = annotation(facts, "sluice.dev/holds-lock") == "true";
  marks.whole_pod = annotation(facts, "sluice.dev/pause") == "pod";
  marks.sacrifice_jobs = annotation(facts, "sluice.dev/sacrifice-jobs") == "true";
  // Whether a Job's pods are started again is not to be seen, and a kill counts against its
  // backoffLimit either way.
  marks.batch = !job_of(facts).empty();
  marks.job = marks.batch;
  marks.system = (facts.sandbox != nullptr && facts.sandbox->space == "kube-system") ||
                 is_static(facts) || is_critical(facts, qos) || is_ours(facts);
  marks.init = is_init(name);
  marks.request_proxy = name == kRequestProxy || (!injected.empty() && injected == name);
  marks.serves = !marks.request_proxy && (facts.has_request_proxy || !injected.empty());
  marks.exclusive_cpus = has_exclusive_cpus(facts, qos);
  return marks;
}

}  // namespace sluice::node_agent
