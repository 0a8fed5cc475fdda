"""What tests of the autoscaler on Kubernetes share: the kind, the program, and what it writes."""

import pathlib

from protowire import fields
from wire import PATIENCE, eventually, fetch

from lab.objects import deployment, fake
from lab.scalers import ScalerCase
from scaling.activator import Activator, Sidecars

CRD = pathlib.Path(__file__).resolve().parents[3] / 'deploy' / 'crds' / 'requestscaler.yaml'
KIND = '/apis/autoscaling.sluice.dev/v1alpha1/requestscalers'
DOORS = {name: '127.0.0.1:0' for name in (
    'SLUICE_STATS_ADDRESS', 'SLUICE_GRPC_ADDRESS', 'SLUICE_API_ADDRESS', 'SLUICE_METRICS_ADDRESS')}
# Short, so that a test sees a service fall asleep.
FAST = {'stable-window': '6s', 'scale-to-zero-grace-period': '6s', 'target-burst-capacity': '0'}
SIDECAR = {'name': 'queue-proxy', 'image': 'any', 'ports': [{'name': 'queue-port', 'containerPort': 8012}]}


def stat(ip, load):
    return fields(f1=ip, f2=float(load), f4=float(load), f6=100.0)


def scaler(name, target=None, **spec):
    return {'apiVersion': 'autoscaling.sluice.dev/v1alpha1', 'kind': 'RequestScaler', 'metadata': {'name': name},
            'spec': {'targetRef': {'name': target or name}, **spec}}


class ScalingCase(ScalerCase):
    """`self.place` is also the autoscaler's namespace for our programs."""

    def setUp(self):
        super().setUp()
        self.lab.kubectl('apply', '--server-side', '-f', str(CRD))
        eventually(lambda: self.api.ask('GET', KIND)[0] == 200, 'the kind is served')
        self.addCleanup(self.forget_scalers)

    def forget_scalers(self):
        """Namespaces of tier 1 are never emptied: nothing may scale for a test that has ended."""
        for one in self.api.items(self.place.path('requestscalers')):
            path = self.place.path('requestscalers', one['metadata']['name'])
            if one['metadata'].get('finalizers'):
                self.api.patch(path, {'metadata': {'finalizers': None}})
            if self.api.find(path):
                self.api.delete(path)

    def configure(self, **changes):
        self.place.create('configmaps', {'metadata': {'name': 'config-autoscaler'}, 'data': {**FAST, **changes}})

    def autoscaler(self, **changes):
        return self.spawn('autoscaler', {
            **DOORS, 'SLUICE_PLATFORM': 'kubernetes', 'POD_NAME': 'autoscaler-a', 'POD_IP': '10.99.251.1',
            'SYSTEM_NAMESPACE': self.place.name, **changes})

    def activator(self, running, ip='10.99.250.1'):
        made = Activator(self.api, self.place.name, running.addresses['grpc'], ip)
        self.addCleanup(made.close)
        return made

    def sidecars(self):
        made = Sidecars(stat)
        self.addCleanup(made.close)
        return made

    def workload(self, name, replicas=1, **more):
        """A Deployment whose pods seem to have a sidecar."""
        return self.place.create('deployments', deployment(
            name, replicas, labels={'sluice.dev/sidecar': 'queue-proxy'},
            containers=[{'name': 'app', 'image': 'any', 'ports': [{'name': 'http', 'containerPort': 8080}]}, SIDECAR],
            annotations=fake(start_delay='1ms'), **more))

    def scale(self, name, target=None, **spec):
        return self.place.create('requestscalers', scaler(name, target, **spec))

    def wait_port(self, name):
        return eventually(lambda: self.look(name).get('status', {}).get('activatorPort'), f'the port of {name}')

    def wait_replicas(self, name, count, seconds=PATIENCE):
        eventually(lambda: self.replicas(name) == count, f'{name} has {count} replicas', seconds)

    def routed(self, name):
        """{(address, port)} that the slices of a Service name and that take requests."""
        return {(address, port['port']) for one in self.place.slices(name) for port in one['ports'] or ()
                for endpoint in one.get('endpoints') or () if endpoint['conditions'].get('ready')
                for address in endpoint['addresses']}

    def wait_routed(self, name, wanted, seconds=PATIENCE):
        try:
            eventually(lambda: self.routed(name) == wanted, f'{name} leads to {wanted}', seconds)
        except AssertionError as late:
            raise AssertionError(f'{late}; it leads to {self.routed(name)}') from None

    def events(self, reason):
        return [one for one in self.api.items(self.place.path('events')) if one['reason'] == reason]

    @staticmethod
    def metric(running, line):
        for text in fetch(running.addresses['metrics'], '/metrics').body.decode().splitlines():
            if text.startswith(line + ' '):
                return float(text.split()[-1])
        return None
