#pragma once

#include "platform/kubernetes/activator/core/cluster_view.h"
#include <string>
#include <utility>

namespace sluice::activator::testing {

/// A cluster as text. Changes read as `shop/cart 10.0.0.1:8012 10.0.0.2:8012?`, a pod that is not
/// ready with a question mark, one that is terminating with a minus sign, one whose sidecar's
/// answer does not count first with an exclamation mark; `by 10.2.0.1:80` for the private service;
/// `-shop/cart` for deleted ones, and `@10.1.0.1:8012` for the activators.
class ClusterStory {
 public:
  ClusterStory& scaler(const std::string& name, ServingSpec spec = {}) {
    view.set_scaler(id(name), std::move(spec));
    return *this;
  }

  ClusterStory& service(const std::string& name, const Labels& selector,
                        const std::string& scaler) {
    view.set_selection(key(name), {id(scaler), selector});
    return *this;
  }

  ClusterStory& pod(const std::string& name, const Labels& labels, const std::string& ip,
                    bool ready = true, bool terminating = false) {
    view.set_pod(key(name), {.labels = labels,
                             .ip = ip,
                             .port = 8012,
                             .ready = ready,
                             .terminating = terminating,
                             .fast_ready = true});
    return *this;
  }

  std::string changes() {
    const ClusterView::Changes changes = view.settle();
    std::string text;
    for (const RevisionId& one : changes.gone) add(text, "-" + one.space + "/" + one.name);
    for (const ClusterRevision& one : changes.revisions) add(text, show(one));
    if (changes.activators) {
      std::string all = "@";
      for (const ClusterAddress& address : *changes.activators) {
        all += (all == "@" ? "" : ",") + address.ip + ":" + std::to_string(address.port);
      }
      add(text, all);
    }
    return text;
  }

  static RevisionId id(const std::string& text) {
    const std::size_t slash = text.find('/');
    return {text.substr(0, slash), text.substr(slash + 1)};
  }

  static ClusterName key(const std::string& text) {
    const RevisionId both = id(text);
    return {both.space, both.name};
  }

  ClusterView view;

 private:
  static std::string show(const ClusterRevision& revision) {
    std::string text = revision.id.space + "/" + revision.id.name;
    for (const ReachablePod& pod : revision.pods) {
      text += " " + pod.ip + ":" + std::to_string(pod.port);
      if (pod.terminating) text += "-";
      if (!pod.ready) text += "?";
      if (!pod.fast_ready) text += "!";
    }
    for (const std::string& ip : revision.activators) text += " @" + ip;
    if (const auto& service = revision.service) {
      text += " by " + service->ip + ":" + std::to_string(service->port);
      if (service->tls_port != 0) text += "," + std::to_string(service->tls_port);
    }
    return text;
  }

  static void add(std::string& text, const std::string& part) {
    text += (text.empty() ? "" : "; ") + part;
  }
};

}  // namespace sluice::activator::testing
