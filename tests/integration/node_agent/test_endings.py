"""How containers end under pressure: by the agent's own hand, by the kernel's, and how they count."""

import os
import signal

from node_agent.case import PRESS, AgentCase
from node_agent.cri import RUNNING
from node_agent.lab import MIB
from wire import eventually

# Everything paused and nothing falls: the published rule ends the last it restricted.
LAST_RESORT = {**PRESS, 'step': 1, 'escalate_after': '300ms'}


class Sacrifice(AgentCase):
    def test_row_50_a_victim_is_lifted_first_and_ended_whatever_it_does_with_sigterm(self):
        self.press()
        stubborn = self.pod('stubborn').run('stubborn', ['grow', 20, 0, 'stubborn'], memory=64 * MIB)
        agent = self.agent(**LAST_RESORT)

        eventually(self.stops, 'one is sacrificed')

        first = self.stops()[0]
        victim = stubborn if first == stubborn.id else self.filler
        asked = self.lab.log()[self.begin:]
        lifted = asked.rindex('CpuQuota:-1', 0, asked.index(f'StopContainer for \\"{victim.id}'))
        self.assertGreater(lifted, 0)
        self.assertEqual(victim.exited().exit_code in (0, 137), True)
        self.assertIsNone(agent.process.poll())

    def test_row_52_an_exit_137_of_ours_counts_as_sacrificed_and_not_as_oom(self):
        self.press()
        agent = self.agent(**LAST_RESORT)

        eventually(self.stops, 'one is sacrificed')
        eventually(lambda: agent.killed('sacrificed') >= 1, 'it is counted')

        self.assertEqual(agent.killed('oom'), 0)


class Kernel(AgentCase):
    NODE = {'memory': 96 * MIB}

    def test_row_53_a_kill_by_an_operator_counts_as_neither(self):
        one = self.small('one')
        agent = self.agent(policy='off')
        eventually(lambda: agent.metric('node_agent_containers') >= 1, 'the agent watches it')

        for pid in (one.group.folder('memory') / 'cgroup.procs').read_text(encoding='ascii').split():
            os.kill(int(pid), signal.SIGKILL)

        self.assertEqual(one.exited().exit_code, 137)
        eventually(lambda: agent.killed('other') == 1, 'it is counted')
        self.assertEqual((agent.killed('oom'), agent.killed('sacrificed')), (0, 0))

    def test_row_51_survivors_of_an_oom_of_the_node_are_no_victims(self):
        agent = self.agent(policy='off')
        pod = self.pod('hogs')
        hogs = [pod.run(f'hog-{number}', ['grow', 40], memory=64 * MIB) for number in range(3)]

        eventually(lambda: any(hog.status().exit_code == 137 for hog in hogs), 'one is killed')
        killed = sum(hog.status().exit_code == 137 for hog in hogs)
        survivors = [hog for hog in hogs if hog.status().state == RUNNING]

        self.assertTrue(survivors)
        self.assertEqual(self.stops(), [])
        eventually(lambda: agent.killed('oom') == killed,
                   'only who was killed counts')
