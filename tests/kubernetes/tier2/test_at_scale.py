"""A thousand RequestScalers and thousands of pods: what the API server is asked, and what it costs in memory."""

import itertools
import pathlib
import sys
import time
from unittest import mock

from wire import eventually

from faults.probe import Probe
from lab.objects import Place, addresses, deployment, fake
from scaling.case import SIDECAR, ScalingCase, scaler

# With a busy processor leases of nodes come late: that one would keep their pods unready.
CLUSTER = {'without': ('node-lifecycle-controller',)}

SERVICES = 50
SCALERS = 1000
FEW, MANY = 10, 100  # pods of each service
REPORTS = 30         # of the activator, two a second: how long nothing happens
PODS = 10_000
KIB_MAX = 40 * 1024  # for as many
SECONDS = 400  # what the controllers need on a processor that others use too
NAMES = [f's{number}' for number in range(SERVICES)]
OURS = 'endpointslices', '?labelSelector=endpointslice.kubernetes.io%2Fmanaged-by%3Dsluice.dev'
COLLECTIONS = (('requestscalers', ''), ('services', ''), ('deployments', ''), OURS)


def resident_kib(pid):
    text = pathlib.Path(f'/proc/{pid}/status').read_text(encoding='ascii')
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith('VmRSS'))


class Scale(ScalingCase):
    def setUp(self):
        # The cluster is this test's alone and ends with it: thousands of pods need not be deleted first.
        kept = mock.patch.object(Place, 'remove')
        kept.start()
        self.addCleanup(kept.stop)
        super().setUp()

    def forget_scalers(self):
        pass

    def begin(self):
        # No pod is scraped here, so reports are the only data: half a window without one means no data.
        self.configure(**{'stable-window': '60s'})
        for name in NAMES:
            self.place.create('deployments', deployment(
                name, FEW, labels={'sluice.dev/sidecar': 'queue-proxy', 'scale': 'test'},
                annotations=fake(start_delay='1ms'), containers=[SIDECAR],
                tolerations=[{'operator': 'Exists'}]))  # who is left out also takes taints away
            self.bound(name, FEW, self.place.create)
        for number in range(SCALERS - SERVICES):  # their targets are still to come
            self.place.create('requestscalers', scaler(f'late{number}'))
        self.running = self.autoscaler()
        self.way = self.activator(self.running)
        self.probe = Probe(self.lab, '/api/v1/pods', labels='scale=test')
        self.addCleanup(self.probe.close)

    def bound(self, name, count, write):
        body = scaler(name, autoscaling={'min': count, 'max': count})
        if write == self.place.create:
            write('requestscalers', body)
        else:
            write(self.place.path('requestscalers', name), {'spec': body['spec']})

    def idle(self):
        """The activator reports zero load for every service, and answers pings meanwhile."""
        if time.monotonic() - self.way.told > 0.5:
            self.way.stream.report(*((name, 0, 0, self.place.name) for name in NAMES[1:]))
        return self.way.hold(NAMES[0], self.place.name)

    def figures(self):
        """(wanted, there, ready) replicas of all Deployments together."""
        found = self.api.items(self.place.path('deployments'))
        return (sum(one['spec']['replicas'] for one in found),
                *(sum(one.get('status', {}).get(key, 0) for one in found) for key in ('replicas', 'readyReplicas')))

    def settle(self, count):
        turn = itertools.count()
        total = count * SERVICES
        try:
            eventually(lambda: self.idle() and next(turn) % 20 == 0 and self.figures() == (total,) * 3,
                       f'all have {count} ready pods', SECONDS)
        except AssertionError as late:
            raise AssertionError(f'{late}; {self.figures()} of {total} are wanted, there, ready') from None
        eventually(lambda: self.idle() and next(turn) % 20 == 0 and self.quiet(), 'nothing is on its way', SECONDS)
        eventually(lambda: self.idle() and next(turn) % 20 == 0 and self.named() == total, 'all are named', SECONDS)
        eventually(lambda: self.idle() and self.probe.counts()['objects'] == total, 'the probe has heard', SECONDS)

    def ours(self, collection, query):
        return self.api.items(self.place.path(collection) + query)

    def named(self):
        """How many ready pods our slices name."""
        return len(addresses(self.ours(*OURS)))

    def quiet(self):
        if self.metric(self.running, 'sluice_kubernetes_waiting_scalers') != 0:
            return False
        before, writes = self.requests(), self.requests('write')
        begun = self.way.said
        eventually(lambda: self.idle() and self.way.said > begun + 4, 'two seconds are over')
        return self.requests() - before <= 4 and self.requests('write') == writes

    def requests(self, *kinds):
        return sum(self.metric(self.running, f'sluice_kubernetes_requests_total{{kind="{kind}"}}')
                   for kind in kinds or ('read', 'write', 'lease'))

    def versions(self):
        return {one['metadata']['uid']: one['metadata']['resourceVersion']
                for collection in COLLECTIONS for one in self.ours(*collection)}

    def steady(self, count):
        """Requests a second, KiB of the probe and KiB of the autoscaler while nothing happens."""
        self.settle(count)
        versions, requests, since = self.versions(), self.requests(), time.monotonic()
        begun = self.way.said
        eventually(lambda: self.idle() and self.way.said > begun + REPORTS, 'some time has passed', 60)
        rate = (self.requests() - requests) / (time.monotonic() - since)
        self.assertEqual(self.versions(), versions)  # 0 writes of a steady revision
        memory = self.probe.counts()['rss'], resident_kib(self.running.pid)
        print(f'{count * SERVICES} pods, {SCALERS} scalers: {rate:.2f} requests/s steady, '
              f'probe {memory[0]} KiB, autoscaler {memory[1]} KiB', file=sys.stderr)
        return rate, *memory

    def test_requests_are_flat_in_the_number_of_pods_and_memory_is_bounded(self):
        self.begin()
        few = self.steady(FEW)
        for name in NAMES:
            self.bound(name, MANY, self.api.patch)

        many = self.steady(MANY)

        self.assertLessEqual(max(few[0], many[0]), 2)
        self.assertLessEqual(many[0] - few[0], 0.5)
        share = PODS / (SERVICES * (MANY - FEW))
        informer, whole = ((many[at] - few[at]) * share for at in (1, 2))
        print(f'for {PODS} pods: informer {informer / 1024:.1f} MiB, autoscaler {whole / 1024:.1f} MiB',
              file=sys.stderr)
        self.assertLessEqual(informer, KIB_MAX)
        self.assertLessEqual(whole, 2 * KIB_MAX)  # also what is decided by, routed to and scraped
