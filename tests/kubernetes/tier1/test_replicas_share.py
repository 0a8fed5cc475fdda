"""Several autoscalers share the revisions by leases: each revision is scaled by one, and always by one."""

import concurrent.futures
import json
import os
import signal
import threading
import time

from h2.exceptions import ProtocolError
from wire import PATIENCE, eventually, fetch

from scaling.activator import Activator
from scaling.case import ScalingCase

LEASE = 6
RULES = {'lease-duration': f'{LEASE}s', 'renew-deadline': '4s', 'retry-period': '1s'}
# The retry period is how long a replica that holds some leaves the next to others, which may still be starting.
PATIENT = {'lease-duration': '60s', 'renew-deadline': '40s', 'retry-period': '10s'}
THEFT = 30  # seconds, for which no replica scales
# More is asked for than is allowed, so that the number is exact: a test that wants more allows more.
ALLOWED = {'target': 10, 'targetUtilizationPercentage': 100, 'max': 4}
REQUESTS = 1000
LONG = 60


class Replica:
    """An autoscaler with an address of its own, behind a proxy that counts what it writes."""

    def __init__(self, case, number):
        self.case = case
        self.ip = f'10.99.240.{number}'
        self.identity = f'autoscaler-{number}_{self.ip}'
        self.proxy = case.fault_proxy()
        self.program = case.spawn('autoscaler', {
            'KUBECONFIG': self.proxy.kubeconfig, 'SLUICE_PLATFORM': 'kubernetes',
            'POD_NAME': f'autoscaler-{number}', 'POD_IP': self.ip, 'SYSTEM_NAMESPACE': case.place.name,
            'SLUICE_STATS_ADDRESS': f'{self.ip}:8080', 'SLUICE_GRPC_ADDRESS': f'{self.ip}:8081',
            'SLUICE_API_ADDRESS': f'{self.ip}:8082', 'SLUICE_METRICS_ADDRESS': f'{self.ip}:0'})
        self.activator = Activator(case.api, case.place.name, self.program.addresses['grpc'],
                                   f'10.99.241.{number}')
        case.addCleanup(self.activator.close)

    def held(self):
        return self.metric('sluice_autoscaler_buckets_held')

    def metric(self, line):
        return self.case.metric(self.program, line)

    def status(self, name):
        """What it reports of a revision that it scales; None when it does not."""
        answer = fetch(self.program.addresses['api'], f'/api/v1/services/{self.case.place.name}/{name}?here=1')
        return json.loads(answer.body) if answer.status == 200 else None

    def bound(self, name):
        """The rule that its last decision was bound by."""
        path = f'/api/v1/services/{self.case.place.name}/{name}/explain?here=1'
        return json.loads(fetch(self.program.addresses['api'], path).body).get('bound_by')

    def scales(self, name):
        return self.status(name) is not None

    def mark(self):
        return self.proxy.mark()

    def writes(self, since):
        """What it wrote beside leases, and events, which record the past."""
        return [f'{one.method} {one.path}' for one in self.proxy.requests(since, writes=True)
                if '/leases' not in one.path and '/events' not in one.path]

    def signal(self, number):
        os.kill(self.program.pid, number)


class Load:
    """Requests in flight for one revision, told to every replica each half second by its activator."""

    def __init__(self, case, name, replicas, requests=REQUESTS):
        self.case = case
        self.name = name
        self.requests = requests
        self.replicas = list(replicas)
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.tell, daemon=True)
        self.thread.start()
        case.addCleanup(self.close)

    def tell(self):
        while not self.ended.is_set():
            for replica in list(self.replicas):
                try:
                    replica.activator.hold(self.name, self.case.place.name, self.requests)
                except (OSError, ProtocolError):  # the other end is gone
                    self.replicas.remove(replica)

    def close(self):
        self.ended.set()
        self.thread.join()


class History:
    """Every number of replicas that a Deployment was given from now on."""

    def __init__(self, case, name):
        self.case = case
        self.name = name
        self.version = case.api.get(case.place.path('deployments'))['metadata']['resourceVersion']

    def numbers(self):
        """Up to now: a change that means nothing marks the end."""
        mark = f'{time.monotonic()}'
        self.case.api.patch(self.case.place.path('deployments', self.name), {
            'metadata': {'annotations': {'lab/mark': mark}}})
        seen = []
        with self.case.api.watch(self.case.place.path('deployments'), resourceVersion=self.version) as watch:
            for event in watch:
                if event['object']['metadata']['name'] != self.name:
                    continue
                seen.append(event['object']['spec']['replicas'])
                if event['object']['metadata'].get('annotations', {}).get('lab/mark') == mark:
                    return seen
        raise AssertionError('the watch has ended')


class SharingCase(ScalingCase):
    def begin(self, count, buckets=1, names=('web',), rules=None, **settings):
        self.configure(**settings)
        self.place.create('configmaps', {'metadata': {'name': 'config-leader-election'},
                                         'data': {**(rules or RULES), 'buckets': str(buckets)}})
        for name in names:
            self.workload(name, 0)
            self.scale(name, autoscaling=ALLOWED)
        with concurrent.futures.ThreadPoolExecutor(count) as together:
            return list(together.map(lambda number: Replica(self, number), range(1, count + 1)))

    def owner(self, replicas, name='web', seconds=LONG):
        return eventually(lambda: next((one for one in replicas if one.scales(name)), None),
                          f'a replica scales {name}', seconds)

    def loaded(self, replicas, name='web'):
        """One replica scales it to all that it may have; that one, and the load."""
        load = Load(self, name, replicas)
        self.wait_replicas(name, ALLOWED['max'], LONG)
        return self.owner(replicas, name), load

    def allow(self, most, name='web'):
        self.api.patch(self.place.path('requestscalers', name), {'spec': {'autoscaling': {'max': most}}})

    def lease(self, number=0, of=1):
        return self.place.path('leases', f'autoscaler-bucket-{number:02}-of-{of:02}')

    def tell(self, what, since):
        print(f'    {what}: {time.monotonic() - since:.2f} s', flush=True)


class Shared(SharingCase):
    def test_every_revision_is_scaled_by_just_one(self):
        names = [f'web-{number}' for number in range(8)]
        replicas = self.begin(3, buckets=3, names=names, rules=PATIENT)

        eventually(lambda: sum(one.held() for one in replicas) == 3, 'all buckets are held', LONG)
        eventually(lambda: all(sum(one.scales(name) for one in replicas) == 1 for name in names),
                   'each has one who scales it', LONG)

        self.assertGreater(sum(one.held() > 0 for one in replicas), 1, 'one holds everything')
        holders = {self.api.get(self.lease(number, 3))['spec']['holderIdentity'] for number in range(3)}
        self.assertEqual(holders, {one.identity for one in replicas if one.held()})

    def test_revisions_of_a_killed_replica_are_scaled_by_another(self):
        replicas = self.begin(2)
        gone, _ = self.loaded(replicas)
        successor = next(one for one in replicas if one is not gone)
        history = History(self, 'web')

        gone.program.kill()
        since = time.monotonic()
        self.owner([successor])
        self.tell('taken over after a kill', since)

        self.allow(8)
        self.wait_replicas('web', 8, LONG)
        self.assertGreaterEqual(min(history.numbers()), 4)

    def test_a_new_owner_lowers_nothing_before_a_stable_window(self):
        replicas = self.begin(2, **{'stable-window': '20s'})
        gone, load = self.loaded(replicas)
        successor = next(one for one in replicas if one is not gone)
        # From now on one replica would do: reports of the same second add up.
        load.close()
        Load(self, 'web', [successor], requests=ALLOWED['target'] // 4)
        history = History(self, 'web')

        gone.program.terminate()
        since = time.monotonic()
        self.owner([successor])
        self.tell('taken over after an orderly end', since)

        self.assertEqual(gone.program.process.wait(PATIENCE), 0)
        eventually(lambda: successor.bound('web') == 'stable_window', 'what runs is held', LONG)
        self.assertEqual(min(history.numbers()), ALLOWED['max'])
        self.wait_replicas('web', 1, LONG)


class LostLeases(SharingCase):
    def rob(self):
        """Another client writes its name into the lease."""
        now = time.strftime('%Y-%m-%dT%H:%M:%S.000000Z', time.gmtime())
        self.api.patch(self.lease(), {'spec': {'holderIdentity': 'thief_10.99.242.1', 'renewTime': now,
                                               'leaseDurationSeconds': THEFT}})

    def test_one_whose_lease_was_stolen_stops_at_once(self):
        victim, = self.begin(1)
        self.loaded([victim])

        self.rob()
        since = time.monotonic()
        eventually(lambda: not victim.scales('web'), 'it scales nothing')
        self.tell('stopped after a theft', since)
        said = victim.activator.said
        eventually(lambda: victim.activator.said > said + 1, 'what was on its way has come')
        mark = victim.mark()
        self.allow(8)
        said = victim.activator.said
        eventually(lambda: victim.activator.said > said + 5, 'it has heard of it', LONG)
        self.assertEqual(victim.writes(mark), [])
        self.assertEqual(self.replicas('web'), 4)

        # The new holder does nothing for it.
        self.wait_replicas('web', 8, LONG)
        self.assertGreaterEqual(victim.metric('sluice_autoscaler_buckets_lost_total'), 1)

    def test_a_replica_suspended_past_the_end_of_its_lease_writes_nothing(self):
        replicas = self.begin(2)
        sleeper, load = self.loaded(replicas)
        successor = next(one for one in replicas if one is not sleeper)
        load.replicas.remove(sleeper)

        sleeper.signal(signal.SIGSTOP)
        self.addCleanup(sleeper.signal, signal.SIGCONT)
        since = time.monotonic()
        self.owner([successor])
        self.tell('taken over from one that sleeps', since)
        self.allow(8)
        self.wait_replicas('web', 8, LONG)

        # What it sees now is four more than what it wanted last.
        mark = sleeper.mark()
        sleeper.signal(signal.SIGCONT)
        eventually(lambda: sleeper.held() == 0, 'it knows that it holds nothing')
        said = successor.activator.said
        eventually(lambda: successor.activator.said > said + 5, 'some time has passed', LONG)

        self.assertEqual(sleeper.writes(mark), [])
        self.assertEqual(self.replicas('web'), 8)
        self.assertFalse(sleeper.scales('web'))

    def test_a_lease_that_is_deleted_is_made_again_and_scaling_continues(self):
        only, = self.begin(1)
        self.loaded([only])

        self.api.delete(self.lease())

        eventually(lambda: (self.api.find(self.lease()) or {}).get('spec', {}).get('holderIdentity')
                   == only.identity, 'it is there again', LONG)
        self.allow(8)
        self.wait_replicas('web', 8, LONG)

    def test_without_an_api_server_no_revision_is_scaled_twice_and_scaling_continues_afterwards(self):
        replicas = self.begin(2)
        self.loaded(replicas)
        history = History(self, 'web')
        most = []

        def unheld():
            held = [one.held() for one in replicas]
            most.append(sum(held))
            return not any(held)

        for one in replicas:
            one.proxy.refuse()
        eventually(unheld, 'the lease has passed', LONG)
        self.allow(8)
        for one in replicas:
            one.proxy.accept()
        since = time.monotonic()

        eventually(lambda: not unheld(), 'a replica holds it', LONG)
        self.tell('held again after an outage', since)
        self.wait_replicas('web', 8, LONG)
        unheld()
        self.assertEqual(max(most), 1)
        self.assertGreaterEqual(min(history.numbers()), 4)
