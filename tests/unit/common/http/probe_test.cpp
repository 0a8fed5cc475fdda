// Rows 10 to 19 of queue-proxy.md 13.

#include "common/http/probe.h"

#include <gtest/gtest.h>

namespace sluice::http {
namespace {

RequestHead with(std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  RequestHead head;
  for (const auto& [name, value] : fields) head.fields.add(name, value);
  return head;
}

std::string text(const ProbeAnswer& answer) {
  return std::to_string(answer.status) + " " + answer.body + answer.hash;
}

TEST(Probe, IsRecognizedByUserAgentOrNetworkProbe) {
  for (const std::string_view agent :
       {"kube-probe/1.29", "Knative-Activator-Probe", "Knative-Autoscaling-Probe/2"}) {
    EXPECT_EQ(classify_probe(with({{"User-Agent", agent}})), ProbeKind::health) << agent;
  }
  EXPECT_EQ(classify_probe(with({{"K-Network-Probe", "probe"}})), ProbeKind::network);
}

TEST(Probe, IsNotRecognizedBySimilarHeaders) {
  EXPECT_EQ(classify_probe(with({{"User-Agent", "curl"}})), ProbeKind::none);
  EXPECT_EQ(classify_probe(with({{"User-Agent", "Kube-Probe/1"}})), ProbeKind::none);
  EXPECT_EQ(classify_probe(with({{"User-Agent", "curl"}, {"K-Network-Probe", "queue"}})),
            ProbeKind::none);
  EXPECT_EQ(classify_probe(with({{"User-Agent", "curl"}, {"K-Kubelet-Probe", "x"}})),
            ProbeKind::none);
}

TEST(Probe, OfTheKubeletIsRecognizedByAgentOrHeader) {
  EXPECT_TRUE(is_kubelet_probe(with({{"User-Agent", "kube-probe/1.29"}})));
  EXPECT_TRUE(is_kubelet_probe(with({{"K-Kubelet-Probe", "x"}})));
  EXPECT_FALSE(is_kubelet_probe(with({{"K-Kubelet-Probe", ""}})));
}

TEST(HealthProbe, RefusesOtherProbeValues) {
  EXPECT_EQ(text(health_answer(with({}), false, true)), "400 unexpected probe header value: \n");
  EXPECT_EQ(text(health_answer(with({{"K-Network-Probe", "test-probe"}}), false, true)),
            "400 unexpected probe header value: test-probe\n");
  EXPECT_FALSE(health_needs_probe(with({}), false));
}

TEST(HealthProbe, ReportsTheResultOfTheProber) {
  const RequestHead queue = with({{"K-Network-Probe", "queue"}});

  EXPECT_TRUE(health_needs_probe(queue, false));
  EXPECT_EQ(text(health_answer(queue, false, true)), "200 queue");
  EXPECT_EQ(text(health_answer(queue, false, false)), "503 ");
}

TEST(NetworkProbe, EchoesTheHashAndRequiresOne) {
  EXPECT_EQ(text(network_answer(with({{"K-Network-Hash", "abc"}}), false)), "200 abc");
  EXPECT_EQ(text(network_answer(with({}), false)),
            "400 a probe request must contain a non-empty \"K-Network-Hash\" header\n");
}

TEST(Probe, FailsWhileDraining) {
  const RequestHead queue = with({{"K-Network-Probe", "queue"}, {"K-Network-Hash", "abc"}});

  EXPECT_FALSE(health_needs_probe(queue, true));
  EXPECT_EQ(text(health_answer(queue, true, true)), "503 shutting down\n");
  EXPECT_EQ(text(network_answer(queue, true)), "503 shutting down\n");
}

}  // namespace
}  // namespace sluice::http
