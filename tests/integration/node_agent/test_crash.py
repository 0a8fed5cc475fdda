"""What is left of an agent that ends without warning: nothing, after its lease or its next start."""

import os
import pathlib
import signal
import time

from node_agent.case import FREE, NODE_AGENT, PRESS, AgentCase
from wire import eventually

LEASE_SECONDS = 3


class Early(AgentCase):
    def test_row_28_a_call_without_an_acknowledgement_is_undone(self):
        held = self.five()
        self.press()
        first = self.agent(**PRESS, lease='600s')
        eventually(lambda: any(self.updates(one) for one in held), 'the runtime was asked')
        first.kill()
        self.relieve()

        second = self.agent(**PRESS, state=first.state)

        for one in held:
            self.wait_quota(one, FREE)
        self.assertEqual(second.end(), 0)


class Frozen(AgentCase):
    def test_a_frozen_agent_loses_its_throttles_and_does_not_fight_for_them(self):
        held = [self.small('free'), self.small('limited', cpu_quota=30_000, cpu_period=100_000)]
        originals = [FREE, (30_000, 100_000)]
        self.press()
        agent = self.agent(**PRESS, lease=f'{LEASE_SECONDS}s')
        self.wait_throttled(*held)

        agent.process.send_signal(signal.SIGSTOP)
        try:
            for one, original in zip(held, originals):
                self.wait_quota(one, original, seconds=LEASE_SECONDS + 5)
        finally:
            agent.process.send_signal(signal.SIGCONT)

        self.wait_throttled(*held)
        eventually(lambda: agent.metric('node_agent_lease_lapses_total') == 1, 'it has noticed')
        eventually(lambda: agent.metric('node_agent_guarded') == 1, 'it has a guardian again')
        self.relieve()
        for one, original in zip(held, originals):
            self.wait_quota(one, original)
        self.assertEqual(agent.metric('node_agent_alarms_total'), 0)
        self.assertEqual(agent.end(), 0)


class Crash(AgentCase):
    def setUp(self):
        super().setUp()
        self.held = self.five()
        self.press()
        self.first = self.agent(**PRESS, lease=f'{LEASE_SECONDS}s')
        self.wait_throttled(*self.held)

    def again(self, **more):
        return self.agent(**PRESS, state=self.first.state, **more)

    def journal(self):
        """The file of the state directory that grows by records."""
        return next(path for path in pathlib.Path(self.first.state).iterdir()
                    if 'journal' in path.name and path.is_file())

    def test_row_26_the_next_start_releases_the_throttles_of_the_last(self):
        self.first.kill()
        self.relieve()

        self.again()

        for one in self.held:
            self.wait_quota(one, FREE, seconds=2)

    def test_row_26_under_pressure_the_next_start_keeps_them_and_their_originals(self):
        self.first.kill()

        second = self.again()
        eventually(lambda: len(second.throttled()) >= len(self.held), 'they are held again')

        self.wait_throttled(*self.held)
        self.relieve()
        for one in self.held:
            self.wait_quota(one, FREE)

    def test_row_29_a_torn_journal_is_completed_from_the_quotas(self):
        self.first.kill()
        self.relieve()
        journal = self.journal()
        with open(journal, 'r+b') as file:
            file.truncate(max(1, os.path.getsize(journal) // 3))
        with open(journal, 'ab') as file:
            file.write(b'\x00torn')

        self.again()

        for one in self.held:
            self.wait_quota(one, FREE)

    def test_row_29_without_a_journal_the_quotas_identify_throttles(self):
        self.first.kill()
        self.relieve()
        self.journal().unlink()

        self.again()

        for one in self.held:
            self.wait_quota(one, FREE)

    def test_without_another_start_the_lease_ends_every_throttle(self):
        began = time.monotonic()
        self.first.kill()

        for one in self.held:
            self.wait_quota(one, FREE, seconds=LEASE_SECONDS + 5)
        # No bound on the wall clock of a busy machine but the one of the lease and its slack above.
        self.assertGreater(time.monotonic() - began, 0)

    def test_an_agent_in_a_dry_run_keeps_no_throttle_of_one_that_was_killed(self):
        self.first.kill()

        onlooker = self.again(dry_run=None)

        for one in self.held:
            self.wait_quota(one, FREE, seconds=LEASE_SECONDS + 5)
        self.assertEqual(onlooker.end(), 0)

    def test_restore_undoes_the_throttles_in_the_journal_and_exits(self):
        self.first.kill()

        done = self.first.verb('--restore', '--runtime-endpoint', self.lab.endpoint)

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([one.quota() for one in self.held], [FREE] * len(self.held))

    def test_row_31_a_second_instance_exits_and_disturbs_nothing(self):
        from node_agent.agent import run
        second = run(NODE_AGENT, *self.first.words)

        self.assertNotEqual(second.returncode, 0)
        self.assertIn('lock', second.stderr)
        self.assertIsNone(self.first.process.poll())
        self.wait_throttled(*self.held)

    def test_row_70_a_sigterm_releases_every_throttle_first(self):
        self.assertEqual(self.first.end(), 0)

        self.assertEqual([one.quota() for one in self.held], [FREE] * len(self.held))

    def test_status_names_throttled_containers(self):
        seen = self.first.verb('status')

        self.assertEqual(seen.returncode, 0, seen.stderr)
        for one in self.held:
            self.assertIn(one.pod.name, seen.stdout)
