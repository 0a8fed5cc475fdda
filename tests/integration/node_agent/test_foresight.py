"""Containers of Jobs that are held from their birth, on a real runtime and by the agent's own rule."""

import contextlib
import os
import pathlib
import signal
import time

import grpc
from node_agent.case import NODE_BYTES
from node_agent.cri import RUNNING
from node_agent.hold_case import GROWER, HELD_MIB, LEASE_SECONDS, LIMIT, HoldCase
from node_agent.lab import MIB
from wire import eventually

WORKER = ('vol', 32, 4, 4, 1000, 1, 20)          # takes up to 32 MiB four times, then ends
SMALL = ('grow', 12, 20)                        # twelve of them fit, though not by their limits
QUEUED_EVENTS = pathlib.Path('/proc/sys/fs/inotify/max_queued_events')


class Births(HoldCase):
    def test_jobs_that_do_not_fit_are_held_before_they_take_5_mib(self):
        agent = self.agent()

        jobs = self.jobs(8, GROWER)

        held = self.held(jobs, 4)
        before = [one.group.memory_usage() for one in held]
        eventually(lambda: sum(one.output() != [] for one in jobs) >= 3, 'others have all they want')
        grown = [one.group.memory_usage() - use for one, use in zip(held, before)]
        self.assertLess(max(before), HELD_MIB * MIB)
        self.assertLess(max(grown), MIB // 10)
        self.assertEqual([self.updates(one) for one in held], [0] * len(held))
        self.assertEqual(self.node.kernel_kills(), 0)
        self.assertGreaterEqual(agent.metric('node_agent_updates_total', 'freeze'), 4)

    def test_twelve_births_in_one_tick_end_without_a_kill_or_a_stop(self):
        self.agent()

        jobs = self.jobs(12, WORKER)

        codes = [one.exited(seconds=60).exit_code for one in jobs]
        self.assertEqual(codes, [0] * 12)
        self.assertEqual(self.node.kernel_kills(), 0)
        self.assertEqual(self.stops(), [])

    def test_limits_four_times_too_high_delay_jobs_and_end_none(self):
        self.agent()

        jobs = self.jobs(4, ('vol', 40, 4, 4, 1000, 1, 20), memory=160 * MIB)

        self.assertEqual([one.exited(seconds=100).exit_code for one in jobs], [0] * 4)
        self.assertEqual(self.node.kernel_kills(), 0)

    def test_a_job_held_by_quota_is_throttled_and_not_frozen(self):
        self.agent(hold='quota')

        jobs = self.jobs(8, GROWER)

        eventually(lambda: sum(0 < one.quota()[0] < 10_000 for one in jobs) >= 4, 'four are held')
        self.assertEqual(self.frozen(jobs), [])

    def test_containers_that_are_of_no_job_are_never_frozen(self):
        self.agent()
        pod = self.pod('service')

        plain = [pod.run(f'service-{number}', SMALL, memory=LIMIT) for number in range(6)]

        eventually(lambda: all(one.output() for one in plain), 'all have grown')
        self.assertEqual(self.frozen(plain), [])

    def test_a_container_that_ends_before_its_program_begins_leaves_no_trace(self):
        agent = self.agent()
        pod = self.job_pod()

        failing = pod.create('absent', (), command=('/absent',), memory=LIMIT)
        with self.assertRaises(grpc.RpcError):
            failing.start()
        after = pod.run('after', SMALL, memory=LIMIT)

        eventually(after.output, 'a job after it runs')
        eventually(lambda: agent.metric('node_agent_births_expected') == 0, 'its group is forgotten')
        self.assertFalse(failing.group.is_frozen())
        self.assertNotIn(failing.id, agent.errors())

    def test_births_that_the_kernel_does_not_report_are_found_by_looking(self):
        with few_queued_events():
            agent = self.agent(lease='60s')
            eventually(lambda: agent.metric('node_agent_births_watched') > 1, 'it watches the node')
        agent.process.send_signal(signal.SIGSTOP)
        try:
            jobs = self.jobs(6, SMALL)
        finally:
            agent.process.send_signal(signal.SIGCONT)

        eventually(lambda: 'more control groups came' in agent.errors(), 'it says that events were lost')
        eventually(lambda: all(f'"id":"{one.id}"' in agent.errors() for one in jobs), 'it has seen all begin')

    def test_births_out_of_the_kernels_sight_are_held_by_the_runtimes_event(self):
        pods = [self.job_pod(parent=self.unwatched(number)) for number in range(8)]
        jobs = [pod.create('job', GROWER, memory=LIMIT) for pod in pods]
        agent = self.agent()
        eventually(lambda: agent.metric('node_agent_births_watched') > 1, 'it watches the node')

        self.start(jobs)

        held = self.held(jobs, 4)
        self.assertLess(max(one.group.memory_usage() for one in held), HELD_MIB * MIB)
        began = {one['id'] for one in agent.log() if one['message'] == 'container began'}
        self.assertLessEqual({one.id for one in jobs}, began)
        self.assertEqual(self.node.kernel_kills(), 0)

    def test_an_agent_that_is_started_on_a_full_node_ends_none(self):
        jobs = self.jobs(4, GROWER)
        agent = self.agent()

        eventually(lambda: agent.metric('node_agent_containers') == 4, 'it sees them')

        eventually(lambda: all(one.output() for one in jobs), 'they have all they want')
        self.assertEqual(self.node.kernel_kills(), 0)
        self.assertEqual(self.stops(), [])


class Held(HoldCase):
    """What others do to a job that is frozen."""

    def setUp(self):
        super().setUp()
        self.running_agent = self.agent()
        self.started = self.jobs(8, GROWER)
        self.job = self.held(self.started, 4)[0]

    def test_a_held_job_is_stopped(self):
        self.job.stop(grace=1)

        self.assertNotEqual(self.job.exited().exit_code, 0)
        eventually(lambda: self.job.id not in self.running_agent.throttled(), 'the agent has forgotten it')

    def test_a_held_job_is_killed_by_the_runtime(self):
        self.job.stop(grace=0)

        self.assertEqual(self.job.exited().exit_code, 137)

    def test_a_command_in_a_held_job_is_refused_or_waits_for_its_deadline(self):
        with self.assertRaises(grpc.RpcError):
            self.job.cri.call('ExecSync', seconds=5, container_id=self.job.id, cmd=['/hog', 'exit', '0'], timeout=1)

        self.assertTrue(self.job.group.is_frozen())
        self.assertEqual(self.job.status().state, RUNNING)

    def test_a_job_that_another_program_thaws_runs_or_is_held_again_and_none_is_killed(self):
        self.job.group.thaw()

        eventually(lambda: 'thaw' in self.running_agent.errors() or self.job.group.is_frozen(), 'the agent has seen it')
        self.assertEqual(self.node.kernel_kills(), 0)

    def test_held_jobs_run_on_when_there_is_room(self):
        held = self.frozen(self.started)
        for one in self.started:
            if one not in held:
                one.stop(grace=0)

        eventually(lambda: any(one.output() for one in held), 'one of them takes all it wants')
        self.assertEqual(self.node.kernel_kills(), 0)


class Paused(HoldCase):
    def test_a_job_that_an_operator_has_paused_stays_so(self):
        paused, other = self.jobs(2, SMALL)
        eventually(paused.output, 'it has run')
        self.lab.ctr('-n', 'k8s.io', 'tasks', 'pause', paused.id)
        self.addCleanup(self.lab.ctr, '-n', 'k8s.io', 'tasks', 'resume', paused.id)

        agent = self.agent()
        eventually(lambda: agent.metric('node_agent_containers') == 2, 'it sees both')
        other.stop(grace=0)
        eventually(lambda: agent.metric('node_agent_containers') == 1, 'it has looked again')

        self.assertTrue(paused.group.is_frozen())
        self.assertEqual(agent.verb('off').returncode, 0)
        self.assertEqual(agent.end(), 0)
        self.assertTrue(paused.group.is_frozen())


class Apart(HoldCase):
    def test_after_a_kill_on_a_full_node_held_jobs_run_on_a_second_apart(self):
        agent = self.agent(upper='0.3', lower='0.2')
        jobs = self.jobs(8, ('grow', 24, 20))
        count = len(self.held(jobs, 4))
        eventually(lambda: self.node.working_set() > NODE_BYTES // 3, 'the node is full by that measure')
        agent.kill()

        eventually(lambda: len(self.frozen(jobs)) < count, 'the first runs on', LEASE_SECONDS + 5)
        began = time.monotonic()
        self.wait_thawed(jobs, count + 2)

        # Two more at least, each a second after the one before.
        self.assertGreater(time.monotonic() - began, 2)
        self.assertEqual(self.node.kernel_kills(), 0)


class Gone(HoldCase):
    """What becomes of held jobs when the agent ends, in every way."""

    def setUp(self):
        super().setUp()
        self.first = self.agent()
        self.started = self.jobs(12, SMALL)
        self.frozen_jobs = self.held(self.started, 8)

    def test_an_agent_that_is_killed_leaves_none_of_eight_frozen_after_its_lease(self):
        self.first.kill()
        began = time.monotonic()

        self.wait_thawed(self.started, LEASE_SECONDS + 1 + len(self.frozen_jobs) + 2)

        print(f'{len(self.frozen_jobs)} thawed {time.monotonic() - began:.1f} s after the kill, lease {LEASE_SECONDS} s')
        self.assertEqual(self.node.kernel_kills(), 0)
        eventually(lambda: all(one.output() for one in self.started), 'all have run on')

    def test_a_guardian_needs_no_runtime_to_thaw_them(self):
        self.lab.process.send_signal(signal.SIGSTOP)
        try:
            self.first.kill()
            self.wait_thawed(self.started, LEASE_SECONDS + 1 + len(self.frozen_jobs) + 2)
        finally:
            self.lab.process.send_signal(signal.SIGCONT)

    def test_a_stop_thaws_all_first(self):
        self.assertEqual(self.first.end(), 0)

        self.assertEqual(self.frozen(self.started), [])

    def test_switched_off_it_thaws_all(self):
        self.assertEqual(self.first.verb('off').returncode, 0)

        self.wait_thawed(self.started, 5 + len(self.frozen_jobs))

    def test_restore_thaws_what_the_journal_lists(self):
        self.first.kill()

        done = self.first.verb('--restore', '--runtime-endpoint', self.lab.endpoint)

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.frozen(self.started), [])

    def test_the_next_agent_takes_them_over_and_thaws_all_in_the_end(self):
        self.first.kill()

        second = self.agent(state=self.first.state)

        eventually(lambda: second.throttled() or not self.frozen(self.started), 'it has found them')
        for one in self.started[:9]:  # by their limits three fit
            one.stop(grace=0)
        self.wait_thawed(self.started, 20)
        self.assertEqual(self.node.kernel_kills(), 0)

    def test_without_a_journal_the_next_agent_thaws_them(self):
        self.first.kill()
        for name in ('journal', 'kin'):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(pathlib.Path(self.first.state, name))

        second = self.agent(state=self.first.state, policy='off')

        eventually(lambda: second.metric('node_agent_containers') >= 8, 'it sees them')
        self.wait_thawed(self.started, LEASE_SECONDS + 20)


@contextlib.contextmanager
def few_queued_events():
    """The kernel keeps few events for a program that starts meanwhile, and as many as ever for all others."""
    before = QUEUED_EVENTS.read_text(encoding='ascii')
    QUEUED_EVENTS.write_text('2', encoding='ascii')
    try:
        yield
    finally:
        QUEUED_EVENTS.write_text(before, encoding='ascii')


assert NODE_BYTES == 4 * LIMIT
