#include "common/files/revision_file.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::files {
namespace {

constexpr const char* kName = "default.app-00001.json";

std::string with(const std::string& keys) {
  return R"({"namespace":"default","name":"app-00001")" + (keys.empty() ? "" : "," + keys) + "}";
}

/// What is wrong with a file of these keys; empty when nothing is.
std::string wrong(const std::string& keys) {
  const auto parsed = parse_revision_file(with(keys), kName);
  return parsed ? "" : parsed.error().text();
}

TEST(RevisionFile, OnlyNamesAreRequired) {
  const auto parsed = parse_revision_file(with(""), kName);

  ASSERT_TRUE(parsed.has_value()) << parsed.error().text();
  model::Revision expected;
  expected.id = {"default", "app-00001"};
  expected.service = "app-00001";
  EXPECT_EQ(parsed->value, expected);
}

TEST(RevisionFile, EveryKeyIsRead) {
  model::Revision file;
  file.id = {"default", "app-00001"};
  file.service = "app";
  file.hosts = {{"app.example.com"}, {"localhost", "/shop"}};
  file.protocol = model::AppProtocol::h2c;
  file.container_concurrency = 10;
  file.timeout = std::chrono::milliseconds{1500};
  file.response_start_timeout = std::chrono::seconds{5};
  file.idle_timeout = std::chrono::seconds{7};
  file.annotations = {{"autoscaling.knative.dev/target", "7"}};
  file.pods.resize(2);
  file.pods[0].id = {"pod-1"};
  file.pods[0].node = "n1";
  file.pods[0].address = *net::parse_address("10.0.0.1:8012");
  file.pods[0].stats = *net::parse_address("unix:/run/stats.sock");
  file.pods[0].ready = true;
  file.pods[1].id = {"pod-2"};
  file.pods[1].terminating = true;
  file.pods[1].failed = "exit status 1";

  const auto parsed = parse_revision_file(R"({"namespace":"default","name":"app-00001",
      "service":"app","hosts":["app.example.com",{"host":"localhost","path_prefix":"/shop/"}],"protocol":"h2c",
      "container_concurrency":10,"timeout_seconds":1.5,"response_start_timeout_seconds":5,
      "idle_timeout_seconds":7,"annotations":{"autoscaling.knative.dev/target":"7"},
      "pods":[{"name":"pod-1","node":"n1","address":"10.0.0.1:8012","stats":"unix:/run/stats.sock",
               "ready":true},
              {"name":"pod-2","terminating":true,"failed":"exit status 1"}]})",
                                          kName);

  ASSERT_TRUE(parsed.has_value()) << parsed.error().text();
  EXPECT_EQ(parsed->value, file);
  EXPECT_TRUE(parsed->unknown_keys.empty());
}

TEST(RevisionFile, AnAddressWithoutHostIsThisMachine) {
  const auto parsed = parse_revision_file(
      with(R"("pods":[{"name":"p","address":":8012","stats":"localhost:9090"}])"), kName);

  ASSERT_TRUE(parsed.has_value()) << parsed.error().text();
  EXPECT_EQ(parsed->value.pods[0].address->text(), "127.0.0.1:8012");
  EXPECT_EQ(parsed->value.pods[0].stats->text(), "127.0.0.1:9090");
}

TEST(RevisionFile, HostsAreComparedInLowerCaseAndOnce) {
  const auto parsed = parse_revision_file(
      with(R"("hosts":["App.Example.Com","app.example.com",{"host":"app.example.com"},
                       {"host":"app.example.com","path_prefix":"/"}])"),
      kName);

  ASSERT_TRUE(parsed.has_value()) << parsed.error().text();
  EXPECT_EQ(parsed->value.hosts, std::vector<model::HostRule>{{"app.example.com"}});
}

TEST(RevisionFile, OneHostMayHaveSeveralPathPrefixes) {
  const auto parsed = parse_revision_file(with(R"("hosts":[{"host":"localhost","path_prefix":"/a"},
      {"host":"localhost","path_prefix":"/b"},{"host":"localhost","path_prefix":"/a/"}])"),
                                          kName);

  ASSERT_TRUE(parsed.has_value()) << parsed.error().text();
  EXPECT_EQ(parsed->value.hosts,
            (std::vector<model::HostRule>{{"localhost", "/a"}, {"localhost", "/b"}}));
}

TEST(RevisionFile, UnknownKeysAreNamedAndIgnored) {
  const auto parsed = parse_revision_file(
      with(R"("containerConcurrency":1,"pods":[{"name":"p","adress":"1.1.1.1:1"}])"), kName);

  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->unknown_keys,
            (std::vector<std::string>{"pods[0].adress", "containerConcurrency"}));
}

TEST(RevisionFile, EveryMistakeNamesItsKeyAndTheAcceptedValues) {
  EXPECT_EQ(wrong(R"("container_concurrency":-1)"),
            "container_concurrency: -1 is not accepted; give a whole number from 0 to 1000000");
  EXPECT_EQ(wrong(R"("container_concurrency":18446744073709551615)"),
            "container_concurrency: 18446744073709551615 is not accepted; "
            "give a whole number from 0 to 1000000");
  EXPECT_EQ(wrong(R"("protocol":"http2")"), "protocol: 'http2' is not accepted; give http1 or h2c");
  EXPECT_EQ(wrong(R"("timeout_seconds":0)"),
            "timeout_seconds: 0 is not accepted; give a number from 0.001 to 604800.0");
  EXPECT_EQ(wrong(R"("hosts":["a:80"])"),
            "hosts[0].host: 'a:80' is not a host name; "
            "give a name such as app.example.com, without port");
  EXPECT_EQ(wrong(R"("hosts":["a",{"host":"b","path_prefix":"shop"}])"),
            "hosts[1].path_prefix: 'shop' is not a path; give a path such as /shop, without query");
  EXPECT_EQ(wrong(R"("hosts":[{"host":"b","path_prefix":"/shop?a"}])"),
            "hosts[0].path_prefix: '/shop?a' is not a path; "
            "give a path such as /shop, without query");
  EXPECT_EQ(wrong(R"("hosts":[{"path_prefix":"/shop"}])"),
            "hosts[0].host: is missing; give a string of at most 253 bytes");
  EXPECT_EQ(wrong(R"("hosts":[3])"), "hosts[0] is not a JSON object; give an object, {...}");
  EXPECT_EQ(wrong(R"("annotations":{"autoscaling.knative.dev/target":7})"),
            "annotations.autoscaling.knative.dev/target: is not accepted; "
            "give a string of at most 4096 bytes; numbers in quotes too");
  EXPECT_EQ(wrong(R"("pods":[{"name":"p"},{"name":"p"}])"),
            "pods: 'p' is listed twice; give each pod a unique name");
  EXPECT_EQ(wrong(R"("pods":[{"address":"1.1.1.1:1"}])"),
            "pods[0].name: is missing; give a string of at most 253 bytes");
  EXPECT_EQ(wrong(R"("pods":[{"name":"p","ready":true}])"),
            "pods[0].address: is missing although the pod is ready; give host:port or unix:/path");
  EXPECT_EQ(wrong(R"("pods":[{"name":"p","address":":1","ready":true,"failed":"f"}])"),
            "pods[0].failed: is set although the pod is ready; give a string only where `ready` is "
            "false");
  EXPECT_EQ(wrong(R"("pods":[{"name":"p","ready":"yes"}])"),
            "pods[0].ready: \"yes\" is not accepted; give true or false");
  EXPECT_EQ(wrong(R"("pods":[{"name":"p","address":"1.1.1.1:0"}])"),
            "pods[0].address: bad address '1.1.1.1:0': port 0 cannot be dialled; "
            "give host:port or unix:/path");
  EXPECT_EQ(wrong(R"("pods":[3])"), "pods[0] is not a JSON object; give an object, {...}");
  EXPECT_EQ(wrong(R"("pods":{})"),
            "pods: {} is not an array; give an array of at most 10000 items");
}

TEST(RevisionFile, MustBeNamedAfterItsRevision) {
  const auto parsed = parse_revision_file(with(""), "default.app-00002.json");

  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().text(),
            "namespace and name are those of default.app-00001.json; "
            "name the file after them: <namespace>.<name>.json");
}

TEST(RevisionFile, InvalidJsonNamesItsPosition) {
  EXPECT_EQ(parse_revision_file("{\"namespace\":", kName).error().what, "invalid JSON at byte 14");
  EXPECT_EQ(parse_revision_file("", kName).error().what, "invalid JSON at byte 1");
  EXPECT_EQ(parse_revision_file("[]", kName).error().what, "it is not a JSON object");
  const std::string deep = with("\"x\":" + std::string(100, '[') + std::string(100, ']'));
  EXPECT_EQ(parse_revision_file(deep, kName).error().what, "it nests deeper than 16 levels");
}

TEST(RevisionFile, AnOverflowingNumberIsAMistakeInEveryFile) {
  EXPECT_EQ(wrong("\"timeout_seconds\":1e999"),
            "it holds a number that is too large; "
            "no number here exceeds 1e308");
  EXPECT_FALSE(parse_activators("[1e999]").has_value());
  EXPECT_FALSE(parse_settings(R"({"stable-window":-1e999})").has_value());
}

TEST(RevisionFile, CountsAndLengthsAreBounded) {
  std::string pods;
  for (std::size_t i = 0; i <= kPodsMax; ++i) {
    pods += (i == 0 ? "" : ",") + std::string{R"({"name":"p)"} + std::to_string(i) + "\"}";
  }
  EXPECT_EQ(wrong("\"pods\":[" + pods + "]"),
            "pods: has 10001 items; give an array of at most 10000 items");
  EXPECT_NE(wrong(R"("service":")" + std::string(254, 'a') + "\""), "");
  EXPECT_NE(wrong("\"service\":\"a\\u0001b\""), "");
}

TEST(RevisionFile, FileNamesAndRevisionsAreOneAndTheSame) {
  EXPECT_EQ(file_name_of({"ns", "a.b"}), "ns.a.b.json");
  EXPECT_EQ(revision_of("ns.a.b.json"), (RevisionId{"ns", "a.b"}));
  for (const char* name : {"ns.json", "ns..json", ".a.json", "Ns.a.json", "ns.a", "ns.a-.json",
                           "ns.a/b.json", "..json", "ns.a b.json"}) {
    EXPECT_FALSE(revision_of(name).has_value()) << name;
  }
}

TEST(Activators, AreAListOfAddressesEachOnce) {
  const auto parsed = parse_activators(R"(["127.0.0.1:8012","unix:/run/a.sock"])");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().text();
  EXPECT_EQ(parsed->size(), 2U);
  EXPECT_EQ((*parsed)[0].text(), "127.0.0.1:8012");
  EXPECT_EQ((*parsed)[1].text(), "unix:/run/a.sock");

  EXPECT_EQ(parse_activators(R"(["1.1.1.1:1","1.1.1.1:1"])").error().what,
            "[1]: 1.1.1.1:1 is listed twice");
  EXPECT_EQ(parse_activators(R"(["1.1.1.1"])").error().what,
            "[0]: bad address '1.1.1.1': there is no port");
  EXPECT_EQ(parse_activators(R"({})").error().what, "it is not a list of activators");
}

TEST(Settings, AreTextsOnly) {
  EXPECT_EQ(parse_settings(R"({"stable-window":"60s"})")->at("stable-window"), "60s");
  EXPECT_EQ(parse_settings(R"({"min-scale":1})").error().text(),
            "min-scale: 1 is not a string; write every value in quotes, numbers too");
}

}  // namespace
}  // namespace sluice::files
