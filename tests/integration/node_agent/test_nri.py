"""Starts that the runtime sends over NRI, on a containerd that has it: Debian's has not."""

import pathlib
import signal
import sys
import time
import unittest

from node_agent.case import NO_LAB
from node_agent.hold_case import GROWER, HELD_MIB, LIMIT, HoldCase
from node_agent.lab import MIB
from node_agent.silent_runtime import SilentRuntime
from wire import eventually

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / 'kubernetes'))

from lab import toolbox  # noqa: E402

SHORT = ('exit', '0')
REQUEST_SECONDS = 2  # how long the runtime waits for an answer of a plugin


def seconds_to_start(container):
    began = time.monotonic()
    container.start()
    return time.monotonic() - began


class NriCase(HoldCase):
    @staticmethod
    def programs():
        try:
            return str(toolbox.require('containerd'))
        except toolbox.NoTools as reason:
            raise unittest.SkipTest(f'{NO_LAB}: {reason}') from None

    def agent(self, **given):
        agent = super().agent(**given)
        eventually(lambda: agent.metric('node_agent_births_watched') > 1, 'it watches the node')
        return agent

    def connected(self, **given):
        """An agent that receives the runtime's starts."""
        agent = self.agent(**given)
        self.wait_connected(agent)
        return agent

    def wait_connected(self, agent, seconds=20):
        eventually(lambda: agent.metric('node_agent_nri') == 1, 'it receives starts', seconds)


class Births(NriCase):
    """Of jobs in groups that the agent does not watch, on a runtime that reports no events."""

    def setUp(self):
        super().setUp()
        self.runtime = SilentRuntime(self.lab)
        self.addCleanup(self.runtime.close)

    def out_of_sight(self, count):
        pods = [self.job_pod(parent=self.unwatched(number)) for number in range(count)]
        return [pod.create('job', GROWER, memory=LIMIT) for pod in pods]

    def late(self, agent, jobs):
        """By how many milliseconds at most each was seen too late; None: it was not seen to begin."""
        began = {one['id']: one['late_ms_max'] for one in agent.log() if one['message'] == 'container began'}
        return [began.get(job.id) for job in jobs]

    def test_births_that_only_nri_reports_are_awaited_at_the_process(self):
        jobs = self.out_of_sight(8)
        agent = self.connected(runtime_endpoint=self.runtime.endpoint)

        self.start(jobs)

        held = self.held(jobs, 4)
        self.assertLess(max(one.group.memory_usage() for one in held), HELD_MIB * MIB)
        late = self.late(agent, jobs)
        self.assertTrue(all(one and one.isdigit() for one in late), late)
        self.assertEqual(self.node.kernel_kills(), 0)
        self.assertEqual(self.stops(), [])

    def test_without_nri_they_are_not_seen(self):
        jobs = self.out_of_sight(1)
        agent = self.agent(runtime_endpoint=self.runtime.endpoint, environment={'SLUICE_NRI_SOCKET': ''})

        self.start(jobs)

        eventually(lambda: agent.metric('node_agent_containers') == 1, 'it is listed')
        self.assertEqual(self.late(agent, jobs), [None])


class Plugin(NriCase):
    def test_an_agent_that_is_killed_delays_no_start(self):
        agent = self.connected()
        pod = self.job_pod()
        after = pod.create('after', SHORT)

        agent.kill()

        self.assertLess(seconds_to_start(after), REQUEST_SECONDS)

    def test_an_agent_that_hangs_delays_one_start_and_connects_again_when_it_runs_on(self):
        agent = self.connected(lease='60s')
        pod = self.job_pod()
        first, second = pod.create('first', SHORT), pod.create('second', SHORT)

        agent.process.send_signal(signal.SIGSTOP)
        try:
            once, then = seconds_to_start(first), seconds_to_start(second)
        finally:
            agent.process.send_signal(signal.SIGCONT)

        self.assertGreater(once, REQUEST_SECONDS)
        self.assertLess(once, 2 * REQUEST_SECONDS)
        self.assertLess(then, REQUEST_SECONDS)
        self.wait_connected(agent)

    def test_a_runtime_that_is_started_again_is_found_again(self):
        agent = self.connected()

        self.lab.stop_runtime()
        try:
            eventually(lambda: agent.metric('node_agent_nri') == 0, 'it has lost the runtime')
        finally:
            self.lab.start_runtime()

        self.wait_connected(agent)
