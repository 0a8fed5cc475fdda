// Goal: each way to fail has one sentence that names what was seen and, where there is one, the
// fix.

#include "platform/process/cause.h"

#include <gtest/gtest.h>

#include <csignal>

namespace sluice::local {
namespace {

using namespace std::chrono_literals;

std::string wait(const StartSight& seen, Duration lasting = 12s) {
  const Cause cause = cause_of_wait(seen, lasting);
  return std::string{name(cause.kind)} + ": " + cause.sentence();
}

std::string end(const EndSight& seen) {
  const Cause cause = cause_of_end(seen);
  return std::string{name(cause.kind)} + ": " + cause.sentence();
}

TEST(Cause, OfAProgramThatListensNowhereNamesThePortAndTheTime) {
  EXPECT_EQ(wait({.port = 20009}), "starting: still starting, nothing listens on 20009 yet (12 s)");
}

TEST(Cause, OfAProgramOnAnotherPortNamesBothAndTheFlag) {
  EXPECT_EQ(wait({.port = 20002, .listens = {8000}}),
            "other_port: it listens on 8000, not on $PORT (20002); use --port 8000 (in YAML: "
            "sluice.dev/port)");
  EXPECT_EQ(wait({.port = 3000, .fixed_port = true, .listens = {8000}}),
            "other_port: it listens on 8000, not on 3000; use --port 8000 (in YAML: "
            "sluice.dev/port)");
}

TEST(Cause, OfAProgramOnItsContainerPortNamesWhatComes) {
  EXPECT_EQ(wait({.port = 20002, .container_port = 8080, .listens = {8080, 9000}}),
            "container_port: it listens on its containerPort 8080, not on $PORT (20002); it is "
            "started again and served there");
}

TEST(Cause, OfAnInitContainerNamesIt) {
  const auto ended = [](const EndSight& seen) {
    const Cause cause = cause_of_init_end("migrate", seen);
    return std::string{name(cause.kind)} + ": " + cause.sentence();
  };
  EXPECT_EQ(ended({.exit_code = 3, .last_error = "no database"}),
            "init: init container migrate ended with exit code 3: no database");
  EXPECT_EQ(ended({.signal = 11}),
            "init: init container migrate was killed by signal 11 (Segmentation fault)");
  EXPECT_EQ(ended({.signal = 9, .oom_kills = 1, .memory_limit = 40 << 20}),
            "out_of_memory: init container migrate was killed: out of memory (limit 40Mi)");
  EXPECT_EQ(cause_of_init("migrate", Duration{std::chrono::seconds{60}}).what,
            "init container migrate did not end within 60s");
}

TEST(Cause, OfAStartupProbeIsNotItsReadiness) {
  EXPECT_EQ(wait({.port = 20002, .listens = {20002}, .reachable = true, .in_startup = true}),
            "startup_probe: it listens on 20002, and its startup probe does not pass yet (12 s)");
}

TEST(Cause, OfAProgramOnManyPortsNamesTheFirstFour) {
  EXPECT_EQ(wait({.port = 20002, .listens = {1, 2, 3, 4, 5}}),
            "other_port: it listens on 1, 2, 3, 4 and more, not on $PORT (20002); use --port 1 (in "
            "YAML: sluice.dev/port)");
}

TEST(Cause, OfAnAddressThatLoopbackDoesNotReachIsNotAnotherPort) {
  EXPECT_EQ(wait({.port = 20002, .listens = {20002}}),
            "other_address: it listens on 20002, and not on 127.0.0.1; let it listen on 127.0.0.1 "
            "or 0.0.0.0");
}

TEST(Cause, OfAProgramThatListensIsItsProbe) {
  EXPECT_EQ(wait({.port = 20002, .listens = {9000, 20002}, .reachable = true}),
            "probe: it listens on 20002, and its readiness probe does not pass yet (12 s)");
}

TEST(Cause, OfAProbeHasItsLastAnswerForClientsToo) {
  const StartSight seen{.port = 20002, .listens = {20002}, .reachable = true};
  EXPECT_EQ(cause_of_wait(seen, 12s, "GET /up gave 503").for_clients(),
            "it listens on 20002, and its readiness probe does not pass yet (12 s): GET /up gave "
            "503");
  EXPECT_EQ(cause_of_wait({.port = 20009}, 12s, "GET /up: connection refused").sentence(),
            "still starting, nothing listens on 20009 yet (12 s)");
}

TEST(Cause, OfAProbeThatRunsACommandIsItsLastAnswerAndNoPathOrPort) {
  StartSight seen{.port = 20002, .listens = {20002}, .reachable = true, .in_startup = true};
  seen.readiness_is_command = true;
  EXPECT_EQ(cause_of_timeout(seen, 5s, "GET /up gave 503").sentence(),
            "it listens on 20002, and its startup probe did not pass within 5s: GET /up gave 503; "
            "check the path and the port of the probe");
  seen.in_startup = false;
  const Cause late = cause_of_timeout(seen, 5s, "test ended with exit code 1");
  EXPECT_EQ(late.sentence(),
            "it listens on 20002, and its readiness probe did not pass within 5s: test ended with "
            "exit code 1; check the command of the probe");
  EXPECT_EQ(late.for_clients(),
            "it listens on 20002, and its readiness probe did not pass within 5s; check the "
            "command of the probe");
  EXPECT_EQ(cause_of_wait(seen, 12s, "test ended with exit code 1").sentence(),
            "it listens on 20002, and its readiness probe does not pass yet (12 s): test ended "
            "with exit code 1");
}

// Looks a second apart, of a program that uses so much of a processor; the second in which it has
// settled, 0: it has not.
int settles(CauseKind kind, double share) {
  Settling settling;
  TimePoint now{100s};
  for (int second = 0; second <= 30; ++second, now += 1s) {
    const std::chrono::duration<double> used{share * second};
    settling.note(kind, std::chrono::duration_cast<Duration>(used), now);
    if (settling.settled()) return second;
  }
  return 0;
}

TEST(Settling, AProgramThatIdlesInTheWrongPlaceHasSettledAfterTenSeconds) {
  EXPECT_EQ(settles(CauseKind::other_port, 0), 10);
  EXPECT_EQ(settles(CauseKind::other_address, 0.01), 10);
}

TEST(Settling, AProgramThatWorksOrListensNowhereHasNotSettled) {
  EXPECT_EQ(settles(CauseKind::other_port, 0.5), 0);
  EXPECT_EQ(settles(CauseKind::starting, 0), 0);
}

TEST(Cause, OfATimeoutIsTheWrongPlaceOrTheLimit) {
  EXPECT_EQ(cause_of_timeout({.port = 20002, .listens = {8000}}, 60s).sentence(),
            "it listens on 8000, not on $PORT (20002); use --port 8000 (in YAML: "
            "sluice.dev/port)");
  EXPECT_EQ(cause_of_timeout({.port = 20002}, 60s).sentence(),
            "nothing listened on 20002 within 60s; raise sluice.dev/start-timeout if it needs "
            "longer");
  EXPECT_EQ(cause_of_timeout({.port = 20002, .listens = {20002}, .reachable = true}, 60s).what,
            "it listens on 20002, and its readiness probe did not pass within 60s");
}

TEST(Cause, OfAnExitIsItsCodeWithTheLastLineOfItsErrors) {
  EXPECT_EQ(end({.exit_code = 3}), "exited: it ended with exit code 3");
  EXPECT_EQ(end({.exit_code = 3, .last_error = "no database"}),
            "exited: it ended with exit code 3: no database");
}

TEST(Cause, ForClientsKeepsTheFix) {
  const Cause cause =
      cause_of_end({.exit_code = 2, .last_error = "a secret", .port_is_lost = true});
  EXPECT_EQ(cause.sentence(),
            "it ended with exit code 2: a secret; a word of its command is empty: write '$PORT' in "
            "single quotes, so that no shell expands it");
  EXPECT_EQ(cause.for_clients(),
            "it ended with exit code 2; a word of its command is empty: write '$PORT' in single "
            "quotes, so that no shell expands it");
}

TEST(Cause, OfASignalIsItsNumberAndName) {
  EXPECT_EQ(end({.signal = SIGSEGV}), "signalled: killed by signal 11 (Segmentation fault)");
}

TEST(Cause, OfAProcessThatTheKernelKilledForMemoryNamesTheLimit) {
  const EndSight killed{
      .signal = SIGKILL, .oom_kills = 1, .memory_limit = 40 << 20, .limit_is_enforced = true};
  EXPECT_EQ(end(killed), "out_of_memory: killed: out of memory (limit 40Mi)");
}

TEST(Cause, OfAProcessThatTheLimitOfItsGroupKilledNamesTheGroup) {
  EXPECT_EQ(end({.signal = SIGKILL, .oom_kills = 1, .group = "fast"}),
            "out_of_memory: killed: out of memory in group fast");
}

TEST(Cause, OfAShellWhoseProgramWasKilledForMemoryIsMemoryToo) {
  EXPECT_EQ(end({.exit_code = 137, .oom_kills = 1, .memory_limit = 40 << 20}),
            "out_of_memory: killed: out of memory (limit 40Mi)");
}

TEST(Cause, OfAKillUnderALimitThatIsOnlyAccountedIsNotTheLimit) {
  EXPECT_EQ(end({.signal = SIGKILL, .memory_limit = 40 << 20}),
            "signalled: killed by signal 9 (Killed); its memory limit of 40Mi is only accounted "
            "here, and ended nothing");
}

TEST(Cause, OfAContainerWhoseRuntimeSawNoKillForMemoryIsLikelyTheLimit) {
  EndSight killed{.signal = SIGKILL, .memory_limit = 40 << 20, .limit_is_enforced = true};
  killed.image = "web:1";

  EXPECT_EQ(end(killed),
            "out_of_memory: killed by signal 9 (Killed), most likely out of memory (limit 40Mi)");
  killed.memory_limit = 0;
  EXPECT_EQ(end(killed), "signalled: killed by signal 9 (Killed)");
}

TEST(Cause, OfAnImageThatWasNotRunIsWhatItsRuntimeSaid) {
  const EndSight not_run{.exit_code = 125,
                         .last_error = "Error: no such image",
                         .not_run_by = "podman",
                         .image = "web:1"};
  EXPECT_EQ(end(not_run), "cannot_start: podman could not run web:1: Error: no such image");
  EXPECT_EQ(cause_of_end(not_run).for_clients(), "its program could not be run");
  EXPECT_EQ(cause_of_init_end("migrate", not_run).for_clients(), "its program could not be run");
}

TEST(Cause, OfAContainerThatListensElsewhereIsInItsOwnNetwork) {
  StartSight seen{.port = 8080, .listens = {3000}, .in_container = true};
  EXPECT_EQ(cause_of_wait(seen, {}).sentence(),
            "it listens on 3000, not on $PORT (8080); use containerPort 3000 (--port 3000)");
  seen.listens = {8080};
  EXPECT_EQ(cause_of_wait(seen, {}).sentence(),
            "it listens on 8080 of its container's loopback address, which cannot be reached from "
            "outside; let it listen on 0.0.0.0");
  seen.listens.clear();
  seen.begun = false;
  EXPECT_EQ(cause_of_wait(seen, std::chrono::seconds{12}).sentence(),
            "its image is being fetched, or its container created (12 s)");
}

TEST(Cause, OfADaemonNamesTheProcessThatRanOn) {
  EXPECT_EQ(end({.exit_code = 0, .survivor = "nginx"}),
            "background: it put itself into the background: the started process ended with exit "
            "code 0 while nginx ran on; start it in the foreground");
  EXPECT_EQ(end({.exit_code = 1, .survivor = "nginx"}), "exited: it ended with exit code 1");
}

TEST(Cause, AnEmptyWordIsALostPort) {
  EXPECT_TRUE(lost_port({"python3", "-m", "http.server", ""}));
  EXPECT_TRUE(lost_port({"serve", "--port="}));
  EXPECT_TRUE(lost_port({"serve", "0.0.0.0:"}));
  EXPECT_FALSE(lost_port({"serve", "--port=$PORT", ""}));
  EXPECT_FALSE(lost_port({"serve"}));
}

TEST(Cause, TheLastLineThatIsNotBlankCountsTrimmedAndCut) {
  EXPECT_EQ(last_words({"first", "  ValueError: x\r", "", "  "}), "ValueError: x");
  EXPECT_EQ(last_words({}), "");
  EXPECT_EQ(last_words({std::string(300, 'x')}), std::string(200, 'x') + "…");
}

TEST(Cause, KillsAreReadFromBothVersionsOfControlGroups) {
  EXPECT_EQ(oom_kills_in("low 0\nhigh 0\nmax 12\noom 1\noom_kill 2\n"), 2);
  EXPECT_EQ(oom_kills_in("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"), 1);
  EXPECT_EQ(oom_kills_in("oom_kill_disable 0\n"), std::nullopt);
}

TEST(Cause, OfAReplicaLargerThanTheMachineNamesBothSizes) {
  constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
  RoomSight seen{.claim = kGibibyte, .capacity = 16'768'000'000, .shortage = "no memory"};
  EXPECT_EQ(cause_of_no_room(seen), (Cause{.kind = CauseKind::no_room, .what = "no memory"}));
  seen.claim = 99'999 * kGibibyte;
  const Cause never = cause_of_no_room(seen);
  EXPECT_EQ(never.kind, CauseKind::too_large);
  EXPECT_EQ(never.sentence(),
            "it needs 99999Gi of memory, and this machine has 15.6Gi; lower its memory limit");
  seen.capacity = 0;
  EXPECT_EQ(cause_of_no_room(seen).what, "no memory");
}

}  // namespace
}  // namespace sluice::local
