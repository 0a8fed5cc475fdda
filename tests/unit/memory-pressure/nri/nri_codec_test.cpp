#include "memory-pressure/nri/nri_codec.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <nri/nri.pb.h>
#include <optional>
#include <string>

namespace sluice::nri {
namespace {

namespace wire = ::nri::pkg::api::v1alpha1;

constexpr const char* kStateChange = "StateChange";

std::string payload_of(const std::string& answer) {
  wire::Response response;
  EXPECT_TRUE(response.ParseFromString(answer));
  EXPECT_EQ(response.status().code(), 0);
  return response.payload();
}

template <class Request>
void fill(Request& request) {
  request.mutable_pod()->set_id("p1");
  request.mutable_pod()->set_name("train-7");
  request.mutable_pod()->set_uid("u1");
  request.mutable_pod()->set_namespace_("batch");
  (*request.mutable_pod()->mutable_labels())["job"] = "train";
  (*request.mutable_pod()->mutable_annotations())["note"] = "x";
  request.mutable_container()->set_id("c1");
  request.mutable_container()->set_pid(41);
}

std::optional<Start> read_as(const std::string& method, const std::string& payload) {
  return read_start({.service = std::string{kPlugin}, .method = method, .payload = payload});
}

std::string change(wire::Event event) {
  wire::StateChangeEvent request;
  fill(request);
  request.set_event(event);
  return request.SerializeAsString();
}

std::string start_of(std::uint32_t pid) {
  wire::StartContainerRequest request;
  fill(request);
  request.mutable_container()->set_pid(pid);
  return request.SerializeAsString();
}

TEST(NriCodec, ThePluginRegistersWithANameAndTwoDigits) {
  wire::Request request;
  wire::RegisterPluginRequest plugin;

  ASSERT_TRUE(request.ParseFromString(register_call()));
  ASSERT_TRUE(plugin.ParseFromString(request.payload()));

  EXPECT_EQ(request.service(), "nri.pkg.api.v1alpha1.Runtime");
  EXPECT_EQ(request.method(), "RegisterPlugin");
  EXPECT_EQ(plugin.plugin_name(), "sluice-node-agent");
  EXPECT_EQ(plugin.plugin_idx(), "00");
}

// Event n is bit n - 1.
TEST(NriCodec, StartsOfContainersAreAskedForAndNothingElse) {
  wire::ConfigureResponse response;

  ASSERT_TRUE(response.ParseFromString(payload_of(configure_answer())));

  EXPECT_EQ(response.events(), 0b110'0000);
}

TEST(NriCodec, ARuntimeWithMoreToListThanOneMessageHoldsMayGoOn) {
  wire::SynchronizeRequest request;
  wire::SynchronizeResponse response;

  ASSERT_TRUE(response.ParseFromString(payload_of(synchronize_answer(""))));
  EXPECT_FALSE(response.more());
  request.set_more(true);
  ASSERT_TRUE(
      response.ParseFromString(payload_of(synchronize_answer(request.SerializeAsString()))));
  EXPECT_TRUE(response.more());
}

TEST(NriCodec, AStartIsReadInTheFormOfOldAndOfNewRuntimes) {
  for (const auto& start : {read_as(kStateChange, change(wire::START_CONTAINER)),
                            read_as("StartContainer", start_of(41))}) {
    ASSERT_TRUE(start.has_value());
    EXPECT_FALSE(start->begun);
    EXPECT_EQ(start->id, "c1");
    EXPECT_EQ(start->pid, 41);
    EXPECT_EQ(start->pod.id, "p1");
    EXPECT_EQ(start->pod.name, "train-7");
    EXPECT_EQ(start->pod.uid, "u1");
    EXPECT_EQ(start->pod.space, "batch");
    EXPECT_TRUE(start->pod.ready);
    EXPECT_EQ(start->pod.labels, (cri::Marks{{"job", "train"}}));
    EXPECT_EQ(start->pod.annotations, (cri::Marks{{"note", "x"}}));
  }
  EXPECT_TRUE(read_as(kStateChange, change(wire::POST_START_CONTAINER))->begun);
  EXPECT_TRUE(read_as("PostStartContainer", start_of(41))->begun);
}

TEST(NriCodec, AProcessThatNoKernelHasIsNone) {
  EXPECT_EQ(read_as("StartContainer", start_of(0))->pid, 0);
  EXPECT_EQ(read_as("StartContainer", start_of(0xffffffff))->pid, 0);
}

TEST(NriCodec, WhatIsNoStartOfAContainerIsNone) {
  EXPECT_FALSE(read_as(kStateChange, change(wire::UNKNOWN)).has_value());
  EXPECT_FALSE(read_as(kStateChange, change(static_cast<wire::Event>(11))).has_value());
  EXPECT_FALSE(read_as(kStateChange, "\xff garbage").has_value());
  EXPECT_FALSE(read_as("StartContainer", "\xff garbage").has_value());
  EXPECT_FALSE(read_as("StartContainer", "").has_value()) << "it names no container";
  EXPECT_FALSE(read_as("StopContainer", start_of(41)).has_value());
}

TEST(NriCodec, CallsAnswersAndTheirRefusalsAreRead) {
  wire::Request request;
  request.set_service("s");
  request.set_method("m");
  request.set_payload("p");
  wire::Response response;
  response.mutable_status()->set_code(3);
  response.mutable_status()->set_message("invalid plugin name");

  const auto call = read_call(request.SerializeAsString());
  const auto answer = read_answer(response.SerializeAsString());

  EXPECT_EQ(call->service + call->method + call->payload, "smp");
  EXPECT_EQ(answer->code, 3);
  EXPECT_EQ(answer->text, "invalid plugin name");
  EXPECT_EQ(read_answer("")->code, 0);
  EXPECT_FALSE(read_call("\xff garbage").has_value());
  EXPECT_FALSE(read_answer("\xff garbage").has_value());
}

TEST(NriCodec, AnotherServiceIsUnimplementedWhateverItIsCalled) {
  wire::Response response;

  ASSERT_TRUE(response.ParseFromString(unimplemented_answer(std::string(100'000, 's'))));

  EXPECT_EQ(response.status().code(), 12);
  EXPECT_LT(response.status().message().size(), 1000U);
}

TEST(NriCodec, ARuntimeMayLeaveOutItsName) {
  wire::ConfigureRequest request;
  request.set_runtime_name("containerd");
  request.set_runtime_version("v2.4.2");

  EXPECT_EQ(read_configure(request.SerializeAsString()).version, "v2.4.2");
  EXPECT_EQ(read_configure("\xff garbage").name, "");
}

}  // namespace
}  // namespace sluice::nri
