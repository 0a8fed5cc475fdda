#include "memory-pressure/cri/cri_codec.h"

#include <gtest/gtest.h>

#include <cri/cri.pb.h>

namespace sluice::cri {
namespace {

namespace wire = runtime::v1;

// Row 17.
TEST(CriCodec, AMeaninglessQuotaIsNotEncoded) {
  EXPECT_FALSE(update_request({.id = "c", .quota_us = 0}).has_value());
  EXPECT_FALSE(update_request({.id = "c", .quota_us = -2}).has_value());
  EXPECT_FALSE(update_request({.id = "c", .quota_us = -1, .period_us = 0}).has_value());
  EXPECT_FALSE(update_request({.id = "", .quota_us = -1}).has_value());
}

// Row 16.
TEST(CriCodec, AReleaseSendsMinusOneWithItsPeriod) {
  wire::UpdateContainerResourcesRequest sent;

  ASSERT_TRUE(sent.ParseFromString(*update_request({.id = "c", .quota_us = -1})));

  EXPECT_EQ(sent.container_id(), "c");
  EXPECT_EQ(sent.linux().cpu_quota(), -1);
  EXPECT_EQ(sent.linux().cpu_period(), 100'000);
  EXPECT_EQ(sent.linux().cpu_shares(), 0);
  EXPECT_EQ(sent.linux().memory_limit_in_bytes(), 0);
}

TEST(CriCodec, OnlyRunningContainersAreListed) {
  wire::ListContainersRequest sent;

  ASSERT_TRUE(sent.ParseFromString(list_running_request()));

  EXPECT_TRUE(sent.filter().has_state());
  EXPECT_EQ(sent.filter().state().state(), wire::CONTAINER_RUNNING);
}

TEST(CriCodec, AStatusIsReadWithItsDescription) {
  wire::ContainerStatusResponse reply;
  reply.mutable_status()->set_id("c");
  reply.mutable_status()->set_state(wire::CONTAINER_EXITED);
  reply.mutable_status()->set_exit_code(137);
  reply.mutable_status()->set_reason("OOMKilled");
  reply.mutable_status()->mutable_resources()->mutable_linux()->set_cpu_quota(-1);
  (*reply.mutable_info())["info"] = "{}";

  const auto status = read_status(reply.SerializeAsString());

  EXPECT_EQ(status->state, State::exited);
  EXPECT_EQ(status->exit_code, 137);
  EXPECT_EQ(status->reason, "OOMKilled");
  EXPECT_EQ(status->resources->cpu_quota_us, -1);
  EXPECT_EQ(status->info, "{}");
}

// As containerd sends it.
std::string event(const std::string& topic, const std::string& value,
                  const std::string& space = "k8s.io") {
  wire::Envelope envelope;
  envelope.set_namespace_(space);
  envelope.set_topic(topic);
  envelope.mutable_event()->set_value(value);
  return envelope.SerializeAsString();
}

std::string end_of(const std::string& container, const std::string& task) {
  wire::TaskExit end;
  end.set_container_id(container);
  end.set_id(task);
  return end.SerializeAsString();
}

TEST(CriCodec, StartsEndsAndRemovalsOfCrisNamespaceAreSubscribedTo) {
  wire::SubscribeRequest sent;

  ASSERT_TRUE(sent.ParseFromString(subscribe_request()));

  ASSERT_EQ(sent.filters_size(), 1);
  EXPECT_EQ(sent.filters(0), R"(namespace=="k8s.io",topic~="^/tasks/(start|exit|delete)$")");
}

TEST(CriCodec, AStartIsReadWithItsProcess) {
  wire::TaskStart start;
  start.set_container_id("c");
  start.set_pid(41);

  const auto read = read_task_event(event("/tasks/start", start.SerializeAsString()));

  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->id, "c");
  EXPECT_EQ(read->started, 41);
  EXPECT_FALSE(read_task_event(event("/tasks/start", start.SerializeAsString(), "moby")));
}

TEST(CriCodec, TheEndOfACommandInAContainerIsNotItsEnd) {
  const auto exit = read_task_event(event("/tasks/exit", end_of("c", "c")));
  const auto removal = read_task_event(event("/tasks/delete", end_of("c", "")));

  ASSERT_TRUE(exit.has_value() && removal.has_value());
  EXPECT_EQ(exit->id, "c");
  EXPECT_EQ(exit->started, 0);
  EXPECT_EQ(removal->id, "c");
  EXPECT_FALSE(read_task_event(event("/tasks/exit", end_of("c", "probe"))));
}

TEST(CriCodec, WhatIsNoEventIsNone) {
  EXPECT_FALSE(read_task_event("no envelope"));
  EXPECT_FALSE(read_task_event(event("/tasks/start", "no task")));
  EXPECT_FALSE(read_task_event(event("/tasks/start", "")));
  EXPECT_FALSE(read_task_event(event("/tasks/exit", "")));
}

TEST(CriCodec, AnOlderRuntimeReportsNoResources) {
  EXPECT_FALSE(read_status(wire::ContainerStatusResponse{}.SerializeAsString())->resources);
}

// Row 44b.
TEST(CriCodec, MissingStatsAreAbsentAndNotZero) {
  wire::ListContainerStatsResponse reply;
  reply.add_stats()->mutable_attributes()->set_id("a");
  wire::ContainerStats& measured = *reply.add_stats();
  measured.mutable_attributes()->set_id("b");
  measured.mutable_memory()->mutable_working_set_bytes()->set_value(0);
  reply.add_stats();  // of no container

  const auto stats = read_stats(reply.SerializeAsString());

  ASSERT_EQ(stats->size(), 2U);
  EXPECT_FALSE((*stats)[0].working_set.has_value());
  EXPECT_EQ((*stats)[1].working_set, 0);
}

TEST(CriCodec, UnknownStatesAreUnknown) {
  wire::ListContainersResponse reply;
  reply.add_containers()->set_id("c");
  reply.mutable_containers(0)->set_state(static_cast<wire::ContainerState>(9));

  EXPECT_EQ(read_containers(reply.SerializeAsString())->front().state, State::unknown);
}

TEST(CriCodec, MalformedMessagesAreRefused) {
  EXPECT_FALSE(read_version("\xff\xff").has_value());
  EXPECT_FALSE(read_sandboxes("\xff\xff").has_value());
  EXPECT_FALSE(read_containers("\xff\xff").has_value());
  EXPECT_FALSE(read_status("\xff\xff").has_value());
  EXPECT_FALSE(read_stats("\xff\xff").has_value());
}

TEST(CriCodec, TooManyEntriesAreTooLarge) {
  wire::ListContainersResponse reply;
  for (std::size_t i = 0; i <= kEntriesMax; ++i) reply.add_containers();

  EXPECT_EQ(read_containers(reply.SerializeAsString()).error(), Error::too_large);
}

}  // namespace
}  // namespace sluice::cri
