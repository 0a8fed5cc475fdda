"""What tests of the installed Sluice share: the chart on a real node, and workloads behind it."""

import contextlib
import json

from wire import connect, eventually, fetch

from lab.chart import CHART
from lab.objects import addresses, container, deployment, environment
from lab.scalers import ScalerCase

INJECT = {'sluice.dev/inject': 'enabled'}
SIDECAR = 'queue-proxy'
LONG = 90  # seconds: two windows, a grace period, and a node that starts pods
CONNECT_SECONDS = 0.3
# Spare room for bursts is 211 requests by default, for which activators would never leave the way.
FEW = {'target': 2, 'targetUtilizationPercentage': 100, 'targetBurstCapacity': 0, 'retention': '0s'}


def listens(address):
    """Whether a connection is accepted; it carries no request, so it wakes no service."""
    try:
        connect(address, CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


class InstalledCase(ScalerCase):
    """`self.place` is a namespace with the label, `self.chart` what is installed from SOURCE: VALUES over the fast
    ones."""

    SOURCE = CHART
    VALUES = {}

    def setUp(self):
        self.chart = self.lab.chart
        self.chart.ensure(self.SOURCE, **self.VALUES)
        super().setUp()
        self.api.patch(f'/api/v1/namespaces/{self.place.name}', {'metadata': {'labels': INJECT}})
        self.addCleanup(self.forget_scalers)
        self.wait_injection(True)

    def wait_injection(self, wanted):
        """Until a pod would have a sidecar, or none: the API server sees labels and addresses a moment later."""
        body = {'metadata': {'name': 'probe'}, 'spec': {'containers': [container()]}}

        def met():
            code, _, answer = self.api.ask('POST', self.place.path('pods') + '?dryRun=All', body)
            if code != 201:
                return False
            spec = json.loads(answer)['spec']
            return wanted == any(one['name'] == SIDECAR
                                 for one in spec['containers'] + spec.get('initContainers', []))

        eventually(met, f'a pod would {"" if wanted else "not "}have a sidecar', LONG)

    def forget_scalers(self):
        """While an autoscaler runs that removes their finalizers."""
        path = self.place.path('requestscalers')
        for one in self.api.items(path):
            self.api.ask('DELETE', f'{path}/{one["metadata"]["name"]}')
        eventually(lambda: not self.api.items(path), 'the scalers are gone', LONG)

    def workload(self, name, replicas=0, env=None, **pod):
        self.place.create('deployments', deployment(name, replicas, containers=[
            container(env=environment(**(env or {})))], **pod))

    def scale(self, name, autoscaling=None, **spec):
        """A RequestScaler of the Deployment, which makes a Service on port 8080."""
        self.place.create('requestscalers', {
            'metadata': {'name': name}, 'apiVersion': 'autoscaling.sluice.dev/v1alpha1', 'kind': 'RequestScaler',
            'spec': {'targetRef': {'name': name}, 'autoscaling': {**FEW, **(autoscaling or {})}, **spec}})

    def story(self):
        return f'\n{self.chart.story()}'

    def address(self, name):
        """Where its Service is, once there is one."""
        found = eventually(lambda: self.api.find(self.place.path('services', name)), f'the Service {name}')
        return f'{found["spec"]["clusterIP"]}:{found["spec"]["ports"][0]["port"]}'

    def wait_routed(self, name, seconds=LONG):
        """Until a connection to the Service reaches a pod: `Ready` is set, and slices are written, before kube-proxy
        has them."""
        address = self.address(name)
        try:
            eventually(lambda: addresses(self.place.slices(name)), f'the Service {name} leads somewhere', seconds)
            eventually(lambda: listens(address), f'{address} takes connections', seconds)
        except AssertionError as late:
            raise AssertionError(f'{late}; {self.look(name).get("status")}{self.story()}') from None

    def ask(self, name, path='/', seconds=60, **headers):
        return fetch(self.address(name), path, timeout=seconds, headers=list(headers.items()))

    def wait_replicas(self, name, wanted, what, seconds=LONG):
        """Until wanted(replicas) holds; reports the state when it never does."""
        try:
            eventually(lambda: wanted(self.replicas(name)), what, seconds)
        except AssertionError as late:
            raise AssertionError(f'{late}; {self.look(name).get("status")}{self.story()}') from None

    def asleep(self, name, seconds=LONG):
        self.wait_replicas(name, lambda count: count == 0, f'{name} sleeps', seconds)
        eventually(lambda: not self.place.pods(name), f'no pod of {name} is left', seconds)



@contextlib.contextmanager
def stage(lab, **values):
    """An InstalledCase for programs that are no test, with all that it made taken away at the end."""
    made = type('Stage', (InstalledCase,), {'VALUES': values, 'lab': lab})()
    try:
        made.setUp()
        yield made
    finally:
        made.doCleanups()
