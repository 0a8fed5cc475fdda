"""Which containers the agent throttles on a real runtime, and that each gets its quota back exactly."""

from node_agent.case import FREE, PRESS, AgentCase
from node_agent.cri import RUNNING
from node_agent.lab import MIB
from wire import eventually


class Originals(AgentCase):
    def test_row_14_an_original_limit_comes_back_exactly(self):
        limited = self.small('limited', cpu_quota=30_000, cpu_period=100_000)
        self.press()
        agent = self.agent(**PRESS)
        self.wait_throttled(limited)

        self.relieve()

        self.wait_quota(limited, (30_000, 100_000))
        self.assertEqual(agent.end(), 0)

    def test_row_15_a_container_with_less_than_the_quota_is_not_touched(self):
        slow = self.small('slow', cpu_quota=1500, cpu_period=100_000)
        other = self.small('other')
        self.press()

        self.agent(**PRESS)
        self.wait_throttled(other)

        self.assertEqual(slow.quota(), (1500, 100_000))
        self.assertEqual(self.updates(slow), 0)

    def test_row_16_no_limit_comes_back_whether_never_set_or_set_once(self):
        never = self.small('never')
        once = self.small('once')
        once.update(50_000)
        once.update(-1)
        self.press()
        self.agent(**PRESS)
        self.wait_throttled(never, once)

        self.relieve()

        self.wait_quota(never, FREE)
        self.wait_quota(once, FREE)

    def test_row_20_a_limit_of_the_pod_below_the_original_is_restored_instead(self):
        group = self.node.child('pod-group')
        pod = self.lab.pod(self.node, 'bounded', parent=group)
        inside = pod.run('inside', ['grow', 8], memory=32 * MIB, cpu_quota=30_000, cpu_period=100_000)
        self.press()
        agent = self.agent(**PRESS)
        self.wait_throttled(inside)

        group.set_quota(20_000)
        self.relieve()

        self.wait_quota(inside, (20_000, 100_000))
        self.assertEqual(agent.end(), 0)


class OwnRule(AgentCase):
    def test_row_8_of_three_two_are_throttled_and_one_runs_on(self):
        small = [self.small('one'), self.small('other')]
        self.press()
        agent = self.agent(upper='0.5', lower='0.4', step=20, escalate_after='2s')

        def throttled():
            return [one for one in (*small, self.filler) if 0 < one.quota()[0] < 10_000]
        eventually(lambda: len(throttled()) == 2, 'two are held as deep as can be')
        self.assertEqual([one.quota() for one in (*small, self.filler) if one not in throttled()], [FREE])

        self.relieve()
        for one in small:
            self.wait_quota(one, FREE)
        self.assertEqual(agent.end(), 0)


class StartsAndExits(AgentCase):
    def test_row_11_containers_that_come_and_go_do_not_disturb_the_others(self):
        steady = self.small('steady')
        passing = self.pod('passing')
        self.press()
        agent = self.agent(**PRESS)

        for number in range(10):
            passing.run(f'short-{number}', ['exit', 0], memory=16 * MIB)

        self.wait_throttled(steady)
        self.relieve()
        self.wait_quota(steady, FREE)
        self.assertEqual(agent.end(), 0)

    def test_row_12_a_container_that_exits_while_throttled_is_dropped(self):
        staying, leaving = self.small('staying'), self.small('leaving')
        self.press()
        agent = self.agent(**PRESS)
        self.wait_throttled(staying, leaving)

        leaving.remove()

        eventually(lambda: not self.held(agent, leaving), 'the agent has forgotten it')
        self.assertTrue(self.held(agent, staying))
        self.assertEqual(agent.end(), 0)

    def test_row_13_a_new_attempt_is_a_new_container(self):
        pod = self.pod('again')
        first = pod.run('again', ['grow', 8], memory=32 * MIB, cpu_quota=40_000, cpu_period=100_000)
        self.press()
        agent = self.agent(**PRESS)
        self.wait_throttled(first)

        first.remove()
        second = pod.run('again', ['grow', 8], attempt=1, memory=32 * MIB, cpu_quota=40_000,
                         cpu_period=100_000)

        eventually(lambda: not self.held(agent, first), 'the agent has forgotten the first')
        self.assertFalse(self.held(agent, second))
        self.assertEqual(second.quota(), (40_000, 100_000))

    def test_row_68_a_container_that_is_not_started_is_no_candidate(self):
        waiting = self.pod('waiting').create('waiting', ['grow', 8], memory=32 * MIB)
        running = self.small('running')
        self.press()

        self.agent(**PRESS)
        self.wait_throttled(running)

        self.assertEqual(self.updates(waiting), 0)

    def held(self, agent, container):
        return container.id in agent.throttled()


class Exempt(AgentCase):
    def test_row_36_system_pods_and_request_proxies_are_never_chosen(self):
        spared = [
            self.pod('dns', namespace='kube-system').run('dns', ['grow', 8], memory=32 * MIB),
            self.pod('static', annotations={'kubernetes.io/config.source': 'file'}).run(
                'static', ['grow', 8], memory=32 * MIB),
            self.pod('serving').run('queue-proxy', ['grow', 8], memory=32 * MIB)]
        chosen = self.small('chosen')
        self.press()

        self.agent(**PRESS)
        self.wait_throttled(chosen)

        self.assertEqual([one.quota() for one in spared], [FREE] * len(spared))
        self.assertEqual([self.updates(one) for one in spared], [0] * len(spared))

    def test_rows_37_and_55_a_container_that_opts_out_or_declares_a_lock_is_never_chosen(self):
        spared = [self.pod('marked', annotations=marks).run('marked', ['grow', 8], memory=32 * MIB)
                  for marks in ({'sluice.dev/throttle': 'never'}, {'sluice.dev/holds-lock': 'true'})]
        chosen = self.small('chosen')
        self.press()

        self.agent(**PRESS)
        self.wait_throttled(chosen)

        self.assertEqual([one.quota() for one in spared], [FREE, FREE])
        self.assertEqual([self.updates(one) for one in spared], [0, 0])


class Memory(AgentCase):
    def test_row_38_page_cache_is_no_pressure(self):
        files = self.pod('files').run('files', ['cache', '/tmp/file', 200], memory=240 * MIB)
        eventually(lambda: self.node.memory_usage() > 200 * MIB, 'files fill the node')
        quiet = self.small('quiet')

        with_stream, agent = self.heard_agent(**PRESS)
        with_stream.wait_for(lambda report: report.sequence >= 5, 'five of them')

        self.assertLess(with_stream.last().used_bytes, 128 * MIB)
        self.assertEqual((files.quota(), quiet.quota()), (FREE, FREE))
        self.assertIsNone(agent.process.poll())

    def test_row_39_memory_file_systems_count_and_their_writer_is_the_grower(self):
        self.pod('shared').run('shared', ['cache', '/dev/shm/file', 50], memory=200 * MIB)
        eventually(lambda: self.node.working_set() > 50 * MIB, 'the file counts as in use')

        stream, _ = self.heard_agent(**PRESS)

        stream.wait_for(lambda report: report.used_bytes > 50 * MIB, 'the file counts')

    def test_row_40_without_a_limit_everything_may_be_claimed(self):
        self.small('limited')
        stream, _ = self.heard_agent()
        before = stream.wait_for(lambda report: report.admit_bytes > 0, 'the gate is open')

        self.pod('unlimited').run('unlimited', ['grow', 8])

        after = stream.wait_for(lambda report: report.admit_bytes < before.admit_bytes - 64 * MIB,
                                'the gate foresees growth without a bound')
        self.assertGreaterEqual(after.admit_bytes, 0)

    def test_row_41_a_new_limit_counts_from_the_next_tick(self):
        sized = self.small('sized', memory=32 * MIB)
        stream, _ = self.heard_agent()
        before = stream.wait_for(lambda report: report.admit_bytes > 0, 'the gate is open')

        self.lab.cri.update(sized.id, memory_limit_in_bytes=128 * MIB)

        stream.wait_for(lambda report: report.admit_bytes < before.admit_bytes - 60 * MIB,
                        'what it may grow by is taken off')

    def heard_agent(self, **given):
        from node_agent.node_stream import NodeStream
        stream = NodeStream()
        self.addCleanup(stream.close)
        return stream, self.agent(autoscaler=stream.address, **given)


class Others(AgentCase):
    def test_row_32_a_quota_set_by_another_client_is_the_new_original(self):
        shared = self.small('shared')
        self.press()
        agent = self.agent(**PRESS)
        self.wait_in_force(agent, shared)

        shared.update(40_000)
        self.wait_throttled(shared)
        self.relieve()

        self.wait_quota(shared, (40_000, 100_000))

    def test_row_32_a_container_lifted_three_times_is_no_longer_throttled(self):
        contested = self.small('contested')
        self.press()
        agent = self.agent(**PRESS)

        for turn in range(3):
            self.wait_in_force(agent, contested)
            contested.update(40_000 + turn)
            self.wait_seen(contested)

        self.relieve()
        self.wait_quota(contested, (40_002, 100_000))

    def test_row_33_a_cpuset_only_update_leaves_the_throttle(self):
        pinned = self.small('pinned')
        self.press()
        agent = self.agent(**PRESS)
        self.wait_throttled(pinned)
        held = pinned.quota()

        self.lab.cri.update(pinned.id, cpuset_cpus='0')

        self.assertEqual(pinned.quota(), held)
        self.relieve()
        self.wait_quota(pinned, FREE)
        self.assertEqual(agent.end(), 0)

    def test_row_34_a_quota_that_an_operator_writes_into_the_group_is_adopted(self):
        touched = self.small('touched')
        self.press()
        agent = self.agent(**PRESS)
        self.wait_in_force(agent, touched)

        touched.group.set_quota(50_000)
        self.wait_throttled(touched)
        self.relieve()

        self.wait_quota(touched, (50_000, 100_000))
        self.assertEqual(touched.status().state, RUNNING)

    def wait_in_force(self, agent, container):
        """Until the runtime has the throttle too. The control group has it first, and a change made between the two
        is overwritten by the runtime's."""
        eventually(lambda: any(one['id'] == container.id and one['in_force']
                               for one in agent.status()['throttled']),
                   f'the throttle of {container.name} is in force')

    def wait_seen(self, container):
        """Until the agent has answered a foreign value, or has given way to it."""
        before = self.updates(container)
        try:
            eventually(lambda: self.updates(container) > before, 'it is throttled again', 2)
        except AssertionError:
            return
