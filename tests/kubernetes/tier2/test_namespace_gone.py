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
        self.asked('shop', self.other, lambda: self.other.ready_pods('shop'), 'shop is awake')

    def asked(self, name, place, condition, what):
        """Until then there is a request for it: one report lasts one window."""
        eventually(lambda: self.way.hold(name, place.name, 1) and condition(), what, SECONDS)

    def gone(self):
        return self.api.find(f'/api/v1/namespaces/{self.other.name}') is None

    def deleted(self):
        self.api.delete(f'/api/v1/namespaces/{self.other.name}')
        eventually(self.gone, 'the namespace is gone', SECONDS)
        self.way.stream.wait(lambda a: 'shop' in a.gone, 'the activator gets the removal of shop')

    def others_go_on(self):
        self.asked('web', self.place, lambda: self.replicas('web') == 1, 'web has a replica')
        eventually(lambda: self.metric(self.running, 'sluice_kubernetes_waiting_scalers') == 0,
                   'no scaler is reconciled again and again', SECONDS)

    def test_a_deleted_namespace_leaves_others_running_and_may_be_made_again(self):
        self.begin()

        self.deleted()
        self.others_go_on()

        self.other = Place(self.lab, self.other.name)
        self.addCleanup(self.other.remove)
        self.fill()
        self.wake()

    def test_an_adopted_service_does_not_hold_it(self):
        self.begin(service={'adopt': True})
        self.asked('shop', self.other, lambda: 'selector' not in self.api.get(
            self.other.path('services', 'shop'))['spec'], 'the Service is taken over')
        self.assertTrue(self.api.get(self.other.path('requestscalers', 'shop'))['metadata']['finalizers'])

        self.deleted()

        self.others_go_on()
