#include "platform/kubernetes/core/start_failure.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

using Container = kube::Pod::Container;
using std::chrono::seconds;

constexpr TimePoint kStart{seconds{1'700'000'000}};

kube::Pod pod_with(Container container) {
  container.name = "app";
  container.image = "shop/web:1";
  kube::Pod pod;
  pod.ready_changed = kStart;
  pod.unready.push_back(std::move(container));
  return pod;
}

std::string waiting(const std::string& reason) {
  return start_failure(pod_with({.waiting = reason})).value_or("may become ready");
}

// A container whose runs ended so often, each before it was ready; now it runs again.
Container ended(std::int32_t times, std::int32_t exit_code = 1,
                const std::string& reason = "Error") {
  return {.running = true,
          .restarts = times,
          .end = Container::End{
              .exit_code = exit_code, .reason = reason, .began = kStart + seconds{60}}};
}

std::string text_of(const Container& container) {
  return start_failure(pod_with(container)).value_or("may become ready");
}

TEST(StartFailure, ASlowStartIsNotAFailure) {
  EXPECT_FALSE(start_failure({}));
  EXPECT_EQ(waiting("ContainerCreating"), "may become ready");
  EXPECT_EQ(waiting("PodInitializing"), "may become ready");
  EXPECT_EQ(waiting("SomethingOfALaterVersion"), "may become ready");

  kube::Pod unscheduled;
  unscheduled.scheduling_problem = "no cpu";
  EXPECT_FALSE(start_failure(unscheduled));
}

TEST(StartFailure, AnImageThatCannotBePulledIsNamedWithTheSameTextForEveryTry) {
  EXPECT_EQ(waiting("ErrImagePull"), "container app: image shop/web:1 cannot be pulled");
  EXPECT_EQ(waiting("ImagePullBackOff"), waiting("ErrImagePull"));
  EXPECT_EQ(waiting("InvalidImageName"), "container app: image shop/web:1 has no valid name");
  EXPECT_EQ(waiting("ErrImageNeverPull"),
            "container app: image shop/web:1 is not on the node, and its pull policy is Never");
}

TEST(StartFailure, AContainerThatCannotBeMadeOrRunIsReported) {
  EXPECT_EQ(waiting("CreateContainerConfigError"),
            "container app: it cannot be configured (CreateContainerConfigError: a ConfigMap, a "
            "Secret or a key that it names is missing)");
  EXPECT_EQ(waiting("CreateContainerError"),
            "container app: it cannot be started (CreateContainerError)");
  EXPECT_EQ(waiting("RunContainerError"),
            "container app: it cannot be started (RunContainerError)");
}

TEST(StartFailure, ThreeStartsInARowMustHaveEndedUnlessKubeletBacksOffEarlier) {
  EXPECT_EQ(text_of(ended(1)), "may become ready");
  EXPECT_EQ(text_of(ended(2)), "may become ready");
  EXPECT_EQ(text_of(ended(3)), "container app: it ends before it is ready: exit status 1");

  Container over = ended(2);  // the third run is over too, and the fourth has not begun
  over.running = false;
  EXPECT_EQ(text_of(over), text_of(ended(3)));

  Container backing_off = ended(1);
  backing_off.running = false;
  backing_off.waiting = "CrashLoopBackOff";
  EXPECT_EQ(text_of(backing_off), text_of(ended(3)));
}

TEST(StartFailure, ACrashLoopWithAnUnknownEndIsStillAFailure) {
  EXPECT_EQ(waiting("CrashLoopBackOff"), "container app: it ends before it is ready");
}

TEST(StartFailure, HowARunEndedIsReported) {
  const std::string ends = "container app: it ends before it is ready: ";
  EXPECT_EQ(text_of(ended(3, 0, "Completed")), ends + "exit status 0");
  EXPECT_EQ(text_of(ended(3, 137, "OOMKilled")), ends + "exit status 137 (OOMKilled)");
  EXPECT_EQ(text_of(ended(3, 139)), ends + "exit status 139 (signal 11)");
  EXPECT_EQ(text_of(ended(3, 255)), ends + "exit status 255");

  Container killed = ended(3, 1);
  killed.end->signal = 9;
  EXPECT_EQ(text_of(killed), ends + "exit status 1 (signal 9)");
}

TEST(StartFailure, ARunDuringWhichThePodWasReadyIsNotAFailedStart) {
  Container crashed = ended(7);
  crashed.running = false;
  crashed.waiting = "CrashLoopBackOff";
  kube::Pod pod = pod_with(crashed);
  pod.ready_changed = crashed.end->began + seconds{30};
  EXPECT_FALSE(start_failure(pod));

  pod.unready[0].end->began = pod.ready_changed + seconds{1};  // the run after it, which failed
  EXPECT_TRUE(start_failure(pod));
}

TEST(StartFailure, AReadyPodHasNoFailure) {
  kube::Pod pod = pod_with(ended(9));
  pod.ready = true;
  EXPECT_FALSE(start_failure(pod));
}

TEST(StartFailure, TheFirstContainerThatFailsIsReported) {
  kube::Pod pod = pod_with(ended(1));
  pod.unready.push_back({.name = "log", .image = "log:2", .waiting = "ImagePullBackOff"});
  EXPECT_EQ(start_failure(pod), "container log: image log:2 cannot be pulled");
}

TEST(StartFailure, ForeignTextIsMadePrintableAndBounded) {
  kube::Pod pod = pod_with({.waiting = "ErrImagePull"});
  pod.unready[0].image = "web\r\nSet-Cookie: a" + std::string(1000, 'x');

  const std::string text = start_failure(pod).value();

  EXPECT_EQ(text.find_first_of("\r\n"), std::string::npos);
  EXPECT_LE(text.size(), kImageBytesMax + 60);
}

}  // namespace
}  // namespace sluice::autoscaler
