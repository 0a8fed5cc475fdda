"""What tests of pods that cannot start share: an autoscaler, an activator, and requests to one RequestScaler."""

from activator.case import ENVIRONMENT, Asker
from wire import eventually, fetch

from scaling.case import ScalingCase

IP = '10.99.1.1'
SECONDS = 60


class FailingCase(ScalingCase):
    def begin(self, containers=None):
        """`web` sleeps, with pods of these containers; requests reach it through a real activator."""
        self.configure()
        self.workload('web', 0)
        if containers:
            self.template(containers)
        self.scale('web')
        running = self.autoscaler()
        activator = self.spawn('activator', {
            **ENVIRONMENT, 'POD_IP': IP, 'SYSTEM_NAMESPACE': self.place.name,
            'SLUICE_HTTP_ADDRESS': f'{IP}:0', 'SLUICE_H2C_ADDRESS': f'{IP}:0',
            'SLUICE_AUTOSCALER_ADDRESS': running.addresses['grpc']})
        self.assertIsNotNone(activator)
        self.door = f'{IP}:{self.wait_port("web")}'
        eventually(self.opened, 'the port is open')

    def template(self, containers):
        self.api.patch(self.place.path('deployments', 'web'), {
            'spec': {'template': {'spec': {'containers': containers}}}})

    def opened(self):
        try:
            return fetch(self.door, headers=[('User-Agent', 'kube-probe/1.29')], timeout=1)
        except OSError:
            return None

    def ask(self):
        return Asker(lambda: fetch(self.door, host='anything', timeout=SECONDS))

    def assert_start_failed(self, answer, why):
        self.assertEqual((answer.status, answer.body.decode()), (503, f'the service fails to start: {why}\n'))
        self.assertTrue(answer.headers['sluice-error'].startswith('start-failed'), answer.headers)
        self.assertEqual(answer.headers['retry-after'], '10')
