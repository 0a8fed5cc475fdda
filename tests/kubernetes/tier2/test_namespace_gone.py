"""A namespace that is deleted under a revision that scales."""

from wire import eventually

from lab.objects import Place, deployment, fake, service
from scaling.case import SIDECAR, ScalingCase, scaler

SECONDS = 90


class Namespaces(ScalingCase):
    def begin(self, **spec):
        """`web` where our programs live, and `shop` in a namespace of its own, awake."""
        self.configure()
        self.workload('web', 0)
        self.scale('web')
        self.other = Place(self.lab, f'{self.place.name}-shop')
        self.fill(**spec)
        self.running = self.autoscaler()
        self.way = self.activator(self.running)
        self.wake()

    def fill(self, **spec):
        self.other.create('services', service('shop'))
        self.other.create('deployments', deployment(
            'shop', 0, labels={'sluice.dev/sidecar': 'queue-proxy'}, annotations=fake(start_delay='1ms'),
            containers=[SIDECAR]))
        self.other.create('requestscalers', scaler('shop', **spec))

    def wake(self):
        """Asked until it is heard: one without a state yet does not count."""
        def awake():
            self.way.stream.report(('shop', 1, 1, self.other.name))
            return self.other.ready_pods('shop')

        eventually(awake, 'shop is awake', SECONDS)

    def gone(self):
        return self.api.find(f'/api/v1/namespaces/{self.other.name}') is None

    def deleted(self):
        self.api.delete(f'/api/v1/namespaces/{self.other.name}')
        eventually(self.gone, 'the namespace is gone', SECONDS)
        self.way.stream.wait(lambda a: 'shop' in a.gone, 'the activator hears that shop is gone')

    def others_go_on(self):
        self.way.stream.report(('web', 1, 1, self.place.name))
        self.wait_replicas('web', 1)
        eventually(lambda: self.metric(self.running, 'sluice_kubernetes_waiting_scalers') == 0,
                   'nobody is looked at again and again', SECONDS)

    def test_it_goes_others_go_on_and_it_may_come_again(self):
        self.begin()

        self.deleted()
        self.others_go_on()

        self.other = Place(self.lab, self.other.name)
        self.addCleanup(self.other.remove)
        self.fill()
        self.wake()

    def test_an_adopted_service_does_not_hold_it(self):
        self.begin(service={'adopt': True})
        eventually(lambda: self.api.get(self.other.path('requestscalers', 'shop'))['metadata'].get('finalizers'),
                   'the scaler has a finalizer', SECONDS)

        self.deleted()

        self.others_go_on()
