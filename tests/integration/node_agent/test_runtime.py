"""A runtime that is away, comes back, refuses, or is not there at all."""

import os
import signal
import subprocess

from node_agent.agent import DEFAULTS, flags
from node_agent.case import FREE, NODE_AGENT, PRESS, AgentCase
from node_agent.cri import RUNNING
from node_agent.lab import MIB
from node_agent.node_stream import NodeStream
from wire import PATIENCE, eventually

UNPRIVILEGED = 65534


class Away(AgentCase):
    def setUp(self):
        super().setUp()
        self.stream = NodeStream()
        self.addCleanup(self.stream.close)
        self.held = self.small('held')
        self.press()
        self.program = self.agent(**PRESS, autoscaler=self.stream.address)
        self.wait_throttled(self.held)

    def test_row_21_without_a_runtime_the_state_is_kept_and_no_container_is_stopped(self):
        self.lab.stop_runtime()
        self.addCleanup(self.lab.remove_pods)
        try:
            self.stream.wait_for(lambda report: report.degraded, 'it says that it is degraded')
            held = self.held.quota()
        finally:
            self.lab.start_runtime()

        self.assertLess(held[0], 10_000)
        self.stream.wait_for(lambda report: not report.degraded, 'it is well again')
        self.assertEqual(self.held.status().state, RUNNING)
        self.assertEqual(self.stops(), [])

    def test_row_22_throttles_outlive_the_runtime_and_are_not_sent_again(self):
        eventually(lambda: all(one['in_force'] for one in self.program.status()['throttled']),
                   'every call is answered')
        before = self.updates(self.held)

        self.lab.stop_runtime()
        self.stream.wait_for(lambda report: report.degraded, 'it says that it is degraded')
        self.lab.start_runtime()
        self.stream.wait_for(lambda report: not report.degraded, 'it is well again')

        self.assertLess(self.held.quota()[0], 10_000)
        self.assertEqual(self.updates(self.held), before)
        self.relieve()
        self.wait_quota(self.held, FREE)


    def test_row_23_a_runtime_that_hangs_under_load_changes_nothing_and_is_read_again(self):
        for number in range(3):
            self.small(f'busy-{number}', ('spin',), cpu_quota=20_000, cpu_period=100_000)
        self.lab.process.send_signal(signal.SIGSTOP)
        try:
            self.stream.wait_for(lambda report: report.degraded, 'it says that it is degraded')
            late = self.held.quota()
        finally:
            self.lab.process.send_signal(signal.SIGCONT)

        self.assertLess(late[0], 10_000)
        self.stream.wait_for(lambda report: not report.degraded, 'it is well again')
        self.assertEqual(self.stops(), [])
        self.relieve()
        self.wait_quota(self.held, FREE)


class Absent(AgentCase):
    def started(self, endpoint, **more):
        words = [NODE_AGENT, *flags({
            '--runtime-endpoint': endpoint, '--state-dir': str(self.state()),
            '--memory-source': f'cgroup:{self.node.folder("memory")}', **DEFAULTS})]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env={**os.environ, 'SLUICE_METRICS_ADDRESS': '', 'SLUICE_NRI_SOCKET': ''}, **more)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def state(self):
        folder = self.lab.folder / f'state-{self.id().rsplit(".", 1)[1]}'
        folder.mkdir(mode=0o777, exist_ok=True)
        folder.chmod(0o777)
        return folder

    def test_row_25_a_missing_socket_is_waited_for(self):
        missing = self.lab.folder / 'later.sock'
        process = self.started(f'unix://{missing}')
        held = self.small('held')
        self.press()

        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(1)
        missing.symlink_to(self.lab.socket)

        eventually(lambda: process.poll() is None, 'it still runs')
        self.assertEqual(held.status().state, RUNNING)

    def test_row_25_a_forbidden_socket_ends_it_with_the_reason(self):
        process = self.started(self.lab.endpoint, user=UNPRIVILEGED, group=UNPRIVILEGED)

        text, _ = process.communicate(timeout=PATIENCE)

        self.assertNotEqual(process.returncode, 0)
        self.assertIn('ermission', text)


class Switches(AgentCase):
    def test_row_63_a_dry_run_decides_and_touches_nothing(self):
        stream = NodeStream()
        self.addCleanup(stream.close)
        quiet = self.small('quiet')
        self.press()

        agent = self.agent(**PRESS, dry_run=None, autoscaler=stream.address)
        seen = stream.wait_for(lambda report: report.throttled, 'it would throttle')

        self.assertTrue(seen.dry_run)
        self.assertEqual(quiet.quota(), FREE)
        self.assertEqual(self.updates(quiet), 0)
        self.assertEqual(agent.end(), 0)

    def test_row_62_switched_off_it_releases_every_throttle_and_idles(self):
        held = self.small('held')
        self.press()
        agent = self.agent(**PRESS)
        self.wait_throttled(held)

        self.assertEqual(agent.verb('off').returncode, 0)
        self.wait_quota(held, FREE)
        eventually(lambda: agent.throttled() == [], 'all of it is free')  # another may be restored last

        self.assertEqual(agent.verb('on').returncode, 0)
        self.wait_throttled(held)

    def test_policy_off_watches_and_touches_nothing(self):
        stream = NodeStream()
        self.addCleanup(stream.close)
        quiet = self.small('quiet')
        self.press()

        self.agent(policy='off', autoscaler=stream.address)
        stream.wait_for(lambda report: report.used_bytes > 128 * MIB, 'it sees the pressure')

        self.assertEqual(quiet.quota(), FREE)
        self.assertEqual(self.updates(quiet), 0)

    def test_the_report_names_node_and_throttled_pods(self):
        stream = NodeStream()
        self.addCleanup(stream.close)
        held = self.small('held')
        self.press()
        self.agent(**PRESS, autoscaler=stream.address)

        seen = stream.wait_for(lambda report: any(one['pod_uid'] == held.pod.uid
                                                  for one in report.throttled), 'it is named')

        one = next(one for one in seen.throttled if one['pod_uid'] == held.pod.uid)
        self.assertEqual((one['pod'], one['namespace'], one['container']),
                         (held.pod.name, 'default', 'held'))
        self.assertEqual(one['period_us'], 100_000)
        self.assertEqual(seen.capacity_bytes, 256 * MIB)
        self.assertGreaterEqual(seen.pressure, 2)
