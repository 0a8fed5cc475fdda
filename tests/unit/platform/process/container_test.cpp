#include "platform/process/container.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace sluice::local {
namespace {

ContainerPlan plan() {
  ContainerPlan plan;
  plan.host = {.runtime = "/usr/bin/podman", .engine = "e", .owner = "/run/e"};
  plan.name = "sluice-e-app-00001-1";
  plan.program.image = "web:1";
  plan.port = 20000;
  plan.inner_port = 8080;
  plan.id_file = "/r/container";
  plan.pid_file = "/r/pid";
  plan.env_file = "/r/environment";
  return plan;
}

std::string command(const ContainerPlan& plan) {
  return fmt::format("{}", fmt::join(run_command(plan), " "));
}

TEST(Container, IsPublishedOnLoopbackAndKnownByItsLabel) {
  EXPECT_EQ(command(plan()),
            "podman run --name sluice-e-app-00001-1 --label dev.sluice.engine=/run/e --cidfile "
            "/r/container --pidfile /r/pid --env-file /r/environment --log-driver none "
            "--stop-timeout 0 --publish "
            "127.0.0.1:20000:8080 web:1");
}

TEST(Container, OfDockerHasNoFileOfItsProcess) {
  ContainerPlan wanted = plan();
  wanted.host.runtime = "/usr/bin/docker";

  const std::string words = command(wanted);
  EXPECT_TRUE(words.starts_with("docker run --name ")) << words;
  EXPECT_EQ(words.find("--pidfile"), std::string::npos);
}

TEST(Container, HasItsLimitsMountsAndArguments) {
  ContainerPlan wanted = plan();
  wanted.port = 0;
  wanted.cpus = {0, 1};
  wanted.cpu_limit = 0.5;
  wanted.memory_limit = 64 << 20;
  wanted.mounts = {{"/etc/app", "/r/v/settings"}, {"/work", "/r/v/work"}};
  wanted.read_only = {"/etc/app"};
  wanted.program.working_dir = "/srv";
  wanted.arguments = {"--port", "8080"};

  const std::string words = command(wanted);
  EXPECT_EQ(words.substr(words.find(" --cpu")),
            " --cpuset-cpus 0-1 --cpus 0.500 --memory 67108864b --volume /r/v/settings:/etc/app:ro "
            "--volume "
            "/r/v/work:/work --workdir /srv web:1 --port 8080");
}

TEST(Container, ShowsNoValueOfItsEnvironmentOnTheCommandLine) {
  ContainerPlan wanted = plan();
  wanted.environment = {"TOKEN=hunter2", "KEY=-----BEGIN\nhunter3"};

  const std::string words = command(wanted);
  EXPECT_EQ(words.find("hunter"), std::string::npos);
  EXPECT_EQ(words.find("TOKEN"), std::string::npos);
  EXPECT_NE(words.find("--env KEY "), std::string::npos);  // no file of variables can hold it
}

TEST(Container, IsFoundByItsIdInControlGroups) {
  EXPECT_TRUE(is_in_container("0::/user.slice/libpod-ab12.scope/container\n", "ab12"));
  EXPECT_TRUE(is_in_container("4:memory:/docker/ab12\n0::/\n", "ab12"));
  EXPECT_FALSE(is_in_container("0::/user.slice/libpod-conmon-ab12.scope\n", "ab12"));
  EXPECT_FALSE(is_in_container("0::/user.slice/libpod-cd34.scope\n", "ab12"));
}

}  // namespace
}  // namespace sluice::local
