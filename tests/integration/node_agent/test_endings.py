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
    def test_row_50_a_victim_keeps_its_quota_and_is_ended_whatever_it_does_with_sigterm(self):
        self.press()
        stubborn = self.pod('stubborn').run('stubborn', ['grow', 20, 0, 'stubborn'], memory=64 * MIB)
        agent = self.agent(**LAST_RESORT)

        eventually(self.stops, 'one is sacrificed')

        first = self.stops()[0]
        victim = stubborn if first == stubborn.id else self.filler
        asked = self.lab.log()[self.begin:]
        self.assertNotIn('CpuQuota:-1', asked[:asked.index(f'StopContainer for \\"{victim.id}')])
        self.assertEqual(victim.exited().exit_code in (0, 137), True)
        self.assertIsNone(agent.process.poll())

    def test_row_52_an_exit_137_of_ours_counts_as_sacrificed_and_not_as_oom(self):
        self.press()
        agent = self.agent(**LAST_RESORT)

        eventually(self.stops, 'one is sacrificed')
        eventually(lambda: agent.killed('sacrificed') >= 1, 'it is counted')

        self.assertEqual(agent.killed('oom'), 0)


class Evicted(AgentCase):
    def test_row_66_an_eviction_is_detected_by_its_traces_and_lowers_the_bound(self):
        """As a kubelet evicts: it ends the containers, then the sandbox, and removes nothing yet."""
        evicted = self.pod('evicted')
        inside = evicted.run('inside', ['grow', 8, 0, 'stubborn'], memory=32 * MIB)
        staying = self.small('staying')
        self.press()
        agent = self.agent(upper='0.5', lower='0.4', no_pause=None)
        eventually(lambda: agent.status()['containers'] == 3, 'the agent watches them')
        self.assertEqual(agent.status()['memory']['upper_in_force'], 0.5)

        inside.stop()
        self.lab.cri.call('StopPodSandbox', pod_sandbox_id=evicted.id)

        eventually(lambda: agent.metric('node_agent_evictions_total') == 1, 'the eviction is noticed')
        eventually(lambda: agent.status()['memory']['upper_in_force'] < 0.485, 'it acts earlier')
        self.assertEqual(staying.status().state, RUNNING)


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
        # So slow that the agent has seen all of them before there is one less.
        hogs = [pod.run(f'hog-{number}', ['grow', 40, 100], memory=64 * MIB) for number in range(3)]
        eventually(lambda: agent.metric('node_agent_containers') == 3, 'the agent watches them')

        def killed():
            return sum(hog.status().exit_code == 137 for hog in hogs)
        eventually(killed, 'one is killed')
        eventually(lambda: agent.killed('oom') == killed(), 'who was killed counts, and only who was')
        self.assertTrue([hog for hog in hogs if hog.status().state == RUNNING], 'there are survivors')
        self.assertEqual(agent.killed('other'), 0)
        self.assertEqual(self.stops(), [])
