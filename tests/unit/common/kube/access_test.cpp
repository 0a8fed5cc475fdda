#include "common/kube/access.h"

#include "tests/unit/common/files/scratch_directory.h"

#include <gtest/gtest.h>

#include <map>

namespace sluice::kube {
namespace {

std::string config(const std::string& cluster, const std::string& user) {
  return "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u, namespace: "
         "shop}}]\n"
         "clusters: [{name: k, cluster: {" +
         cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n";
}

Result<Access, Problem> parse(const std::string& text) {
  return parse_kubeconfig(text, {}, "/none");
}

TEST(Kubeconfig, NamesServerCredentialsAndNamespace) {
  const auto access = parse(config(
      "server: 'https://[fd00::1]:6443/k8s/', certificate-authority-data: aGVsbG8=", "token: t"));

  ASSERT_TRUE(access.has_value()) << access.error().text();
  EXPECT_EQ(access->address.text(), "[fd00::1]:6443");
  EXPECT_EQ(access->server_name, "fd00::1");
  EXPECT_EQ(access->path_prefix, "/k8s");
  EXPECT_TRUE(access->tls);
  EXPECT_EQ(access->ca, "hello");
  EXPECT_EQ(access->token, "t");
  EXPECT_EQ(access->space, "shop");
}

TEST(Kubeconfig, TakesTheUsualPortAndTheNameToVerify) {
  const auto access =
      parse(config("server: https://api.example.com, tls-server-name: kubernetes", ""));

  ASSERT_TRUE(access.has_value()) << access.error().text();
  EXPECT_EQ(access->address.host, "api.example.com");
  EXPECT_EQ(access->address.port, 443);
  EXPECT_EQ(access->server_name, "kubernetes");
}

TEST(Kubeconfig, ReadsFilesBesideItself) {
  const files::ScratchDirectory scratch;
  scratch.write("ca.crt", "CA");
  scratch.write("me.crt", "CERT");
  scratch.write("me.key", "KEY");

  const auto access =
      parse_kubeconfig(config("server: https://127.0.0.1:1, certificate-authority: ca.crt",
                              "client-certificate: me.crt, client-key: me.key, tokenFile: token"),
                       {}, scratch.path());

  ASSERT_TRUE(access.has_value()) << access.error().text();
  EXPECT_EQ(access->ca, "CA");
  EXPECT_EQ(access->client_certificate, "CERT");
  EXPECT_EQ(access->client_key, "KEY");
  EXPECT_EQ(access->token_file, scratch.path() / "token");
}

TEST(Kubeconfig, NamesThePluginThatGivesCredentials) {
  const auto access = parse(config(
      "server: 'https://127.0.0.1:1', certificate-authority-data: aGVsbG8=, extensions: [{name: "
      "client.authentication.k8s.io/exec, extension: {audience: a, count: 3, text: '3'}}]",
      "exec: {apiVersion: client.authentication.k8s.io/v1, command: bin/login, args: [a b, -v], "
      "env: [{name: A, value: b}], interactiveMode: Always, installHint: get it, "
      "provideClusterInfo: true}"));

  ASSERT_TRUE(access.has_value()) << access.error().text();
  ASSERT_TRUE(access->plugin);
  const ExecPlugin& plugin = *access->plugin;
  EXPECT_EQ(plugin.command, (std::vector<std::string>{"/none/bin/login", "a b", "-v"}));
  EXPECT_EQ(plugin.environment, (std::vector<std::pair<std::string, std::string>>{{"A", "b"}}));
  EXPECT_EQ(plugin.interactive, Interactive::always);
  EXPECT_EQ(plugin.install_hint, "get it");
  EXPECT_EQ(plugin.cluster_info,
            R"({"certificate-authority-data":"aGVsbG8=","config":{"audience":"a","count":3,)"
            R"("text":"3"},"server":"https://127.0.0.1:1"})");
}

TEST(Access, OfAProgramHasNoPlugin) {
  const files::ScratchDirectory scratch;
  scratch.write("config",
                config("server: https://127.0.0.1:1",
                       "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: login}"));
  const std::string path = (scratch.path() / "config").string();
  const auto none = [](std::string_view /*name*/) { return std::optional<std::string>{}; };
  const auto access = find_access(none, {.kubeconfig = path, .context = {}});
  ASSERT_FALSE(access.has_value());
  EXPECT_NE(access.error().text().find("exec is not supported"), std::string::npos);
  EXPECT_TRUE(find_access(none, {.kubeconfig = path, .context = {}, .plugins = true}).has_value());
}

TEST(Kubeconfig, IsRefusedWithTheKeyThatIsNotSupported) {
  const std::string server = "server: https://127.0.0.1:1";
  const std::vector<std::pair<std::string, std::string>> rows{
      {config(server, "exec: {command: aws}"), "exec"},
      {config(server, "auth-provider: {name: gcp}"), "auth-provider"},
      {config(server, "username: a, password: b"), "username"},
      {config(server, "as: other"), "as "},
      {config(server + ", insecure-skip-tls-verify: true", ""), "insecure-skip-tls-verify"},
      {config(server + ", proxy-url: 'http://p'", ""), "proxy-url"},
      {config("server: 'http://10.0.0.1:80'", ""), "clear text"},
      {config("server: 'ftp://x'", ""), "https"},
      {config("server: 'https://a@b'", ""), "host"},
      {config("server: 'https://a:0'", ""), "port"},
      {config("x: y", ""), "server"},
      {config(server, "client-certificate-data: aGVsbG8="), "client-key"},
      {config(server + ", certificate-authority-data: '!'", ""), "certificate-authority-data"},
      {config(server + ", certificate-authority: absent.crt", ""), "certificate-authority"},
      {"current-context: d\n", "contexts"},
      {"contexts: []\n", "current-context"},
      {"- a\n", "map"},
      {"{", "YAML"},
      {std::string(2'000, '['), "YAML"},
      {std::string(2U << 20U, ' '), "1 MiB"},
  };

  for (const auto& [text, named] : rows) {
    const auto access = parse(text);
    ASSERT_FALSE(access.has_value()) << text.substr(0, 200);
    EXPECT_NE(access.error().what.find(named), std::string::npos) << access.error().what;
    EXPECT_FALSE(access.error().fix.empty()) << access.error().what;
  }
}

settings::Environment environment_of(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> std::optional<std::string> {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

TEST(KubeAccess, InClusterIsTheServiceAccount) {
  const files::ScratchDirectory scratch;
  scratch.write("token", "t");
  scratch.write("ca.crt", "CA");
  scratch.write("namespace", "sluice-system\n");

  const auto access = in_cluster(environment_of({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                                                 {"KUBERNETES_SERVICE_PORT", "443"}}),
                                 scratch.path());

  ASSERT_TRUE(access.has_value()) << access.error().text();
  EXPECT_EQ(access->address.text(), "10.96.0.1:443");
  EXPECT_EQ(access->server_name, "10.96.0.1");
  EXPECT_EQ(access->ca, "CA");
  EXPECT_EQ(access->token_file, scratch.path() / "token");
  EXPECT_EQ(access->space, "sluice-system");
}

TEST(KubeAccess, IsFoundByTheFirstVariableThatIsSet) {
  const files::ScratchDirectory scratch;
  scratch.write("one", config("server: https://127.0.0.1:1", ""));
  scratch.write("two", config("server: https://127.0.0.1:2", ""));
  const std::string one = scratch.path() / "one";
  const std::string two = scratch.path() / "two";

  const auto ours = find_access(environment_of({{"SLUICE_KUBECONFIG", one}, {"KUBECONFIG", two}}));
  const auto usual = find_access(environment_of({{"KUBECONFIG", two}}));

  ASSERT_TRUE(ours.has_value() && usual.has_value());
  EXPECT_EQ(ours->address.port, 1);
  EXPECT_EQ(usual->address.port, 2);
}

TEST(KubeAccess, WhatAPersonChoosesGoesBeforeTheEnvironment) {
  const files::ScratchDirectory scratch;
  const std::string text =
      "current-context: a\ncontexts: [{name: a, context: {cluster: a, user: u}}, "
      "{name: b, context: {cluster: b, user: u}}]\nusers: [{name: u, user: {}}]\n"
      "clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}, "
      "{name: b, cluster: {server: 'http://127.0.0.1:2'}}]\n";
  scratch.write("config", text);
  scratch.write("other", config("server: 'http://127.0.0.1:3'", ""));
  const std::string file = scratch.path() / "config";
  const auto environment = environment_of({{"KUBECONFIG", file}});

  const auto context = find_access(environment, {.kubeconfig = {}, .context = "b"});
  const auto chosen =
      find_access(environment, {.kubeconfig = scratch.path() / "other", .context = {}});
  const auto unknown = find_access(environment, {.kubeconfig = {}, .context = "c"});
  const auto in_pod = find_access(environment_of({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}}),
                                  {.kubeconfig = {}, .context = "b"});

  ASSERT_TRUE(context.has_value() && chosen.has_value());
  EXPECT_EQ(context->address.port, 2);
  EXPECT_EQ(chosen->address.port, 3);
  ASSERT_FALSE(unknown.has_value() || in_pod.has_value());
  EXPECT_NE(unknown.error().what.find("no entry named 'c'"), std::string::npos);
  EXPECT_NE(in_pod.error().fix.find("--kubeconfig"), std::string::npos);
}

TEST(KubeAccess, NamesEverythingThatWasTried) {
  const auto none = find_access(environment_of({}));
  const auto several = find_access(environment_of({{"KUBECONFIG", "/a:/b"}}));
  const auto absent = find_access(environment_of({{"KUBECONFIG", "/absent/file"}}));

  ASSERT_FALSE(none.has_value() || several.has_value() || absent.has_value());
  for (const char* const name :
       {"SLUICE_KUBECONFIG", "KUBECONFIG", "KUBERNETES_SERVICE_HOST", "~/.kube/config"}) {
    EXPECT_NE(none.error().what.find(name), std::string::npos) << name;
  }
  EXPECT_NE(absent.error().what.find("/absent/file"), std::string::npos);
}

}  // namespace
}  // namespace sluice::kube
