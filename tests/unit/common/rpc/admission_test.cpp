#include "common/rpc/admission.h"

#include <gtest/gtest.h>

#include <array>

namespace sluice::rpc {
namespace {

Peer with(const certificates::Identity& identity) {
  return {.address = "ipv4:10.0.0.1:1", .tls = true, .identity = identity};
}

std::optional<Refusal> why(Caller wanted, const Peer& peer, bool plain_call = false) {
  const auto refused = judge(wanted, peer, plain_call);
  if (!refused) return std::nullopt;
  return refused->why;
}

TEST(Admission, GivesEachMethodToItsOwnRoleOnly) {
  const std::array peers{with({.activator = true}), with({.node = "n"}),
                         with({.autoscaler = true})};
  const std::array wanted{Caller::activator, Caller::node_agent};
  for (std::size_t method = 0; method < wanted.size(); ++method) {
    for (std::size_t peer = 0; peer < peers.size(); ++peer) {
      const auto refused = why(wanted.at(method), peers.at(peer));
      if (method == peer) EXPECT_FALSE(refused);
      if (method != peer) EXPECT_EQ(refused, Refusal::wrong_role) << method << peer;
    }
  }
}

TEST(Admission, AcceptsAnyCertificateWhereNoRoleIsRequired) {
  EXPECT_FALSE(why(Caller::certified, with({})));
  EXPECT_EQ(why(Caller::activator, with({})), Refusal::wrong_role);
}

TEST(Admission, TakesPlainTextForTheMethodsThatWereNamedOnly) {
  const Peer plain{.address = {}};
  EXPECT_EQ(why(Caller::activator, plain), Refusal::plain_text);
  EXPECT_EQ(why(Caller::certified, plain), Refusal::plain_text);
  EXPECT_FALSE(why(Caller::activator, plain, true));
}

TEST(Admission, NamesTheSettingAndTheUri) {
  const auto role = judge(Caller::node_agent, with({.activator = true}), false);
  EXPECT_EQ(role->ending.code, Code::permission_denied);
  EXPECT_NE(role->ending.text.find("sluice://node-agent/"), std::string::npos);
  const auto plain = judge(Caller::certified, {.address = {}}, false);
  EXPECT_EQ(plain->ending.code, Code::unauthenticated);
  EXPECT_NE(plain->ending.text.find("SLUICE_TLS_DIR"), std::string::npos);
}

}  // namespace
}  // namespace sluice::rpc
