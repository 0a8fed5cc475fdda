#include "platform/kubernetes/activator/io/cluster_metrics.h"

namespace sluice::activator {

void write_cluster_metrics(metrics::Families& families, const ClusterPlatform& cluster,
                           const ScalerDoors& doors) {
  using metrics::MetricType;
  families.family("sluice_activator_scaler_ports", MetricType::gauge,
                  "Ports of RequestScalers: open, or missing because another program holds them.");
  families.value({{"state", "open"}}, doors.open());
  families.value({{"state", "missing"}}, doors.missing());
  cluster.client().write_metrics(families);
  const ClusterPlatform::Watches watches = cluster.watches();
  families.family("sluice_kubernetes_watches", MetricType::gauge,
                  "Watched kinds: with an open watch, or waiting for one.");
  families.value({{"state", "open"}}, watches.open);
  families.value({{"state", "waiting"}}, watches.all - watches.open);
  families.counter("sluice_kubernetes_lists_total", "Times a watched kind was listed in full.",
                   watches.lists);
  families.counter("sluice_kubernetes_events_total", "Changes received.", watches.events);
}

}  // namespace sluice::activator
