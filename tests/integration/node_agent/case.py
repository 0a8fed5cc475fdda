"""What every theme of the node agent shares: one laboratory, and nodes and pods that a test uses up."""

import functools
import unittest

from engine import BIN
from node_agent.lab import MIB, Lab, reason_against
from wire import eventually

NO_LAB = 'no laboratory on this machine'  # ctest reports SKIPPED where it reads this
NODE_AGENT = str(BIN / 'node-agent')
PAPER_AGENT = str(BIN.parent / 'tests' / 'paper-agent')
FREE = (-1, 100_000)
# node-agent with the published rule in place of its own (bench/replays/paper-agent), and bounds that a few
# containers cross: all of them are restricted in one step and none sacrificed while the test lasts, so that
# what is throttled is known beforehand.
PRESS = {'binary': PAPER_AGENT, 'upper': '0.5', 'lower': '0.4', 'step': 20, 'escalate_after': '600s',
         'sample': '50ms'}
NODE_BYTES = 256 * MIB
FILLER_MIB = 150  # alone above the upper bound, without it everything else is below the lower one


def required_lab():
    """Without a runtime nothing can be shown here: said loudly, and never taken for passed."""
    reason = reason_against()
    if reason:
        raise unittest.SkipTest(f'{NO_LAB}: {reason}')


@functools.cache
def shared_lab(programs=''):
    """The laboratory of a theme: it takes seconds to start."""
    unittest.addModuleCleanup(close_lab, programs)
    return Lab(programs).__enter__()


def close_lab(programs=''):
    if shared_lab.cache_info().currsize:
        shared_lab(programs).close()
        shared_lab.cache_clear()


class LabCase(unittest.TestCase):
    """Tests over a runtime. Each has a node of its own, `self.node`, made by `NODE`."""

    NODE = {'memory': NODE_BYTES}

    @classmethod
    def setUpClass(cls):
        required_lab()
        cls.lab = shared_lab(cls.programs())

    @staticmethod
    def programs():
        """The folder of the containerd to use; empty: the machine's."""
        return ''

    def setUp(self):
        self.node = self.lab.node(**self.NODE)
        self.addCleanup(self.lab.remove_pods)

    def pod(self, name='pod', **more):
        return self.lab.pod(self.node, name, **more)


class AgentCase(LabCase):
    """Tests of the program over the node. `self.begin`: where the runtime's log stood before."""

    def setUp(self):
        super().setUp()
        self.begin = len(self.lab.log())
        self.filler = None

    def agent(self, binary=NODE_AGENT, **given):
        from node_agent.agent import Agent  # only here: a skipped test needs no gRPC
        agent = Agent(binary, self.lab, self.node, **given)
        self.addCleanup(agent.close)
        return agent

    def small(self, name, arguments=('grow', 8), **more):
        """A container that would not press on the node by itself; in a pod of its own."""
        return self.pod(name).run(name, arguments, **{'memory': 32 * MIB, **more})

    def five(self):
        """Small containers in one pod, which is quicker than five."""
        pod = self.pod('held')
        return [pod.run(f'held-{number}', ('grow', 4), memory=16 * MIB) for number in range(5)]

    def press(self):
        """Fills the node beyond the upper bound of PRESS."""
        self.filler = self.pod('filler').run('filler', ['grow', FILLER_MIB])
        eventually(lambda: self.node.working_set() > NODE_BYTES // 2, 'the node is under pressure')

    def relieve(self):
        """Below the lower bound again."""
        self.filler.remove()
        eventually(lambda: self.node.working_set() < NODE_BYTES * 0.4, 'the pressure is over')

    def wait_throttled(self, *containers):
        for one in containers:
            eventually(lambda one=one: one.quota()[0] not in (-1, 0) and one.quota()[0] < 10_000,
                       f'{one.name} is throttled, it has {one.quota()}')

    def wait_quota(self, container, quota, seconds=20):
        try:
            eventually(lambda: container.quota() == quota, f'{container.name} has {quota}', seconds)
        except AssertionError as late:
            raise AssertionError(f'{late}; it has {container.quota()}') from None

    def updates(self, container):
        """How many times the runtime was asked to change a container since the test began."""
        return self.lab.asked('UpdateContainerResources', self.begin).count(container.id)

    def stops(self):
        return self.lab.asked('StopContainer', self.begin)
