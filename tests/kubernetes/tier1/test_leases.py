"""Two autoscalers on one API server: who acts, and who takes over when the other goes, however it goes."""

import os
import signal

from wire import eventually

from lab.fault_proxy import Drop
from scaling.case import ScalingCase

# Short, so that a test sees one run out; as in config-leader-election.
LEASE, RENEW, RETRY = 6, 4, 1
BUCKET = 'autoscaler-bucket-00-of-01'
SECONDS = 60


class LeaseCase(ScalingCase):
    def setUp(self):
        super().setUp()
        self.configure()
        self.place.create('configmaps', {'metadata': {'name': 'config-leader-election'}, 'data': {
            'buckets': '1', 'lease-duration': f'{LEASE}s', 'renew-deadline': f'{RENEW}s',
            'retry-period': f'{RETRY}s'}})
        self.workload('web', 0)
        self.scale('web')
        self.proxies = {}

    def patient(self):
        """Before the first begins, where no lease is to run out."""
        self.api.patch(self.place.path('configmaps', 'config-leader-election'), {
            'data': {'lease-duration': '600s', 'renew-deadline': '500s'}})

    def replica(self, letter):
        """One behind a proxy of its own, which records all its requests."""
        number = ord(letter) - ord('a')
        self.proxies[letter] = self.fault_proxy()
        made = self.autoscaler(POD_NAME=f'autoscaler-{letter}', POD_IP=f'10.99.251.{number + 1}',
                               KUBECONFIG=self.proxies[letter].kubeconfig)
        made.letter = letter
        return made

    def lease(self):
        return self.api.find(self.place.path('leases', BUCKET))

    def holder(self):
        """The holder's letter in the lease; empty: none."""
        found = self.lease()
        identity = (found or {}).get('spec', {}).get('holderIdentity') or ''
        return identity.partition('_')[0].removeprefix('autoscaler-')

    def held(self, running):
        return self.metric(running, 'sluice_autoscaler_buckets_held') == 1

    def wait_held(self, running):
        eventually(lambda: self.held(running) and self.holder() == running.letter,
                   f'{running.letter} holds the bucket', SECONDS)
        return running

    def pair(self):
        first = self.wait_held(self.replica('a'))
        second = self.replica('b')
        eventually(lambda: self.proxies['b'].count(watches=True, path=self.place.path('leases')),
                   'the second follows the lease', SECONDS)
        return first, second

    def wakes(self, running):
        """It acts: what is asked of it is written."""
        activator = self.activator(running, f'10.99.250.{ord(running.letter) - ord("a") + 1}')
        activator.stream.wait(lambda a: 'web' in a.states, 'the state of web')
        eventually(lambda: activator.hold('web', self.place.name, 1) and self.replicas('web') == 1, 'web is awake',
                   SECONDS)

    def writes(self, letter, since=0):
        """Other than of leases."""
        return [one for one in self.proxies[letter].requests(since, writes=True)
                if '/leases' not in one.path and '/events' not in one.path]


class Holders(LeaseCase):
    def test_only_one_of_two_acts(self):
        self.patient()
        first, second = self.pair()

        self.wakes(first)

        self.assertFalse(self.held(second))
        self.assertEqual(self.writes('b'), [])

    def test_a_bucket_is_taken_over_when_its_holder_is_killed_and_no_replica_is_dropped(self):
        first, second = self.pair()
        self.wakes(first)
        before = self.lease()['spec']['leaseTransitions']

        first.kill()

        self.wait_held(second)
        self.assertEqual(self.lease()['spec']['leaseTransitions'], before + 1)
        self.wait_condition('web', 'Target', 'True Found')
        self.workload('late', 0)
        self.scale('late')
        self.wait_condition('late', 'Ready', 'True Sleeping', SECONDS)
        self.assertEqual(self.replicas('web'), 1)
        self.assertEqual([one for one in self.writes('b') if one.path.endswith('/scale')], [])

    def test_an_orderly_end_gives_the_bucket_back_at_once(self):
        self.patient()
        first, second = self.pair()

        first.terminate()
        first.process.wait(SECONDS)

        self.wait_held(second)
        self.wakes(second)

    def test_a_lease_that_is_stolen_is_no_longer_acted_on(self):
        self.patient()
        first = self.wait_held(self.replica('a'))
        self.wait_condition('web', 'Ready', 'True Sleeping', SECONDS)
        eventually(lambda: self.metric(first, 'sluice_kubernetes_waiting_scalers') == 0, 'nothing is on its way',
                   SECONDS)
        path = self.place.path('leases', BUCKET)

        self.api.patch(path, {'spec': {'holderIdentity': 'autoscaler-z_10.99.251.26', 'leaseDurationSeconds': 3600,
                                       'leaseTransitions': 77}})
        eventually(lambda: not self.held(first), 'it has noticed', SECONDS)
        mark = self.proxies['a'].mark()
        self.workload('late', 0)
        self.scale('late')
        second = self.replica('b')
        eventually(lambda: self.proxies['b'].count(watches=True, path=self.place.path('leases')),
                   'another has heard of all that', SECONDS)

        self.assertFalse(self.held(second))
        self.assertEqual(self.holder(), 'z')
        self.assertEqual(self.metric(first, 'sluice_autoscaler_buckets_lost_total'), 1)
        self.assertEqual(self.writes('a', mark), [])

    def test_one_that_cannot_renew_stops_before_another_begins(self):
        first, second = self.pair()
        self.proxies['a'].fault(Drop())
        self.proxies['a'].drop_connections()

        eventually(lambda: not self.held(first) or self.held(second), 'one of them moves', SECONDS)
        self.assertFalse(self.held(first))

        self.wait_held(second)
        self.assertFalse(self.held(first))
        self.wakes(second)

    def test_a_replica_suspended_for_longer_than_its_lease_does_not_act_on_it(self):
        first, second = self.pair()
        os.kill(first.pid, signal.SIGSTOP)
        self.wait_held(second)
        mark = self.proxies['a'].mark()

        os.kill(first.pid, signal.SIGCONT)
        eventually(lambda: not self.held(first), 'it has noticed', SECONDS)

        self.wakes(second)
        self.assertEqual(self.holder(), 'b')
        self.assertEqual([one for one in self.writes('a', mark) if one.path.endswith('/scale')], [])

    def test_a_lease_that_is_deleted_is_made_again(self):
        self.patient()
        first = self.wait_held(self.replica('a'))

        self.api.delete(self.place.path('leases', BUCKET))

        eventually(self.lease, 'there is one again', SECONDS)
        self.wait_held(first)
        self.wakes(first)

    # Another's clock is never compared with ours: a lease counts from when it was seen to change.
    def test_times_in_a_lease_that_are_years_away_are_ignored(self):
        for year in ('1999', '2199'):
            with self.subTest(year=year):
                self.take_from_another(f'{year}-01-01T00:00:00.000000Z')

    def take_from_another(self, time):
        path = self.place.path('leases', BUCKET)
        if self.api.find(path):
            self.api.delete(path)
        self.place.create('leases', {'metadata': {'name': BUCKET}, 'spec': {
            'holderIdentity': 'autoscaler-z_10.99.251.26', 'leaseDurationSeconds': 20, 'leaseTransitions': 1,
            'acquireTime': time, 'renewTime': time}})
        running = self.replica('a')
        self.assertFalse(self.held(running))

        self.wait_held(running)
        running.kill()
