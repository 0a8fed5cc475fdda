#include "platform/kubernetes/activator/io/cluster_metrics.h"

namespace sluice::activator {

void write_cluster_metrics(metrics::Exposition& text, const ClusterPlatform& cluster,
                           const ScalerDoors& doors) {
  using metrics::label_text;
  using metrics::MetricType;
  text.family("sluice_activator_scaler_ports", MetricType::gauge,
              "Ports of RequestScalers: open, or missing since another program has them.");
  text.count(label_text({{"state", "open"}}), doors.open());
  text.count(label_text({{"state", "missing"}}), doors.missing());
  const kube::Client::Counts& requests = cluster.requests();
  text.family("sluice_kubernetes_requests_total", MetricType::counter,
              "Requests to the API server.");
  text.count(label_text({{"kind", "read"}}), requests.requests - requests.writes);
  text.count(label_text({{"kind", "write"}}), requests.writes);
  text.family("sluice_kubernetes_throttled_total", MetricType::counter,
              "Requests that the API server answered with 429.");
  text.count({}, requests.throttled);
  text.family("sluice_kubernetes_failures_total", MetricType::counter,
              "Requests to the API server that failed.");
  text.count({}, requests.failures);
  const ClusterPlatform::Watches watches = cluster.watches();
  text.family("sluice_kubernetes_watches", MetricType::gauge,
              "Kinds that are followed: told of right now, or not.");
  text.count(label_text({{"state", "open"}}), watches.open);
  text.count(label_text({{"state", "waiting"}}), watches.all - watches.open);
  text.family("sluice_kubernetes_lists_total", MetricType::counter,
              "Times a kind was read from its beginning.");
  text.count({}, watches.lists);
  text.family("sluice_kubernetes_events_total", MetricType::counter, "Changes that were reported.");
  text.count({}, watches.events);
}

}  // namespace sluice::activator
