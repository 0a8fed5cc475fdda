"""The stream with our activators: waking, orders to go, loss (protocols.md 3)."""

from wire import eventually

from .fake_activator import FakeActivator
from .case import AutoscalerTest

ASLEEP = {'autoscaling.knative.dev/initial-scale': '0'}
SHORT = {'autoscaling.knative.dev/window': '6s'}


class Streams(AutoscalerTest):
    def activator(self, running, *arguments, **options):
        made = FakeActivator(running.addresses['grpc'], *arguments, **options)
        self.addCleanup(made.close)
        return made

    def asleep(self, name='app'):
        self.platform.put('config-autoscaler.json', {'allow-zero-initial-scale': 'true'})
        self.platform.revision(name, annotations=ASLEEP)

    def test_first_request_wakes_at_once(self):
        self.asleep()
        running = self.start()
        activator = self.activator(running).wait(lambda a: a.snapshot == 1, 'the snapshot')
        self.assertEqual(activator.states['app']['granted'], 0)
        self.assertEqual(self.platform.scale('app')['replicas'], 0)

        activator.report(('app', 1, 1))

        activator.wait(lambda a: a.states['app']['granted'] == 1, 'the grant')
        self.assertEqual(self.platform.scale('app')['replicas'], 1)
        explained = running.api('/services/default/app/history').json()
        self.assertEqual(explained['items'][-1]['trigger'], 'poke')

    def test_waiting_requests_are_in_the_hello_too(self):
        self.asleep()
        running = self.start()

        activator = self.activator(running, waiting=[('app', 3)])

        activator.wait(lambda a: a.states.get('app', {}).get('granted') == 1, 'the grant')
        self.platform.wait_for_scale('app', lambda order: order['replicas'] == 1)

    def three_pods(self):
        pods = [self.pod('pod-1', concurrency=5), self.pod('pod-2'), self.pod('pod-3', concurrency=2)]
        self.platform.revision('app', [pod.entry() for pod in pods])
        return pods

    def told_to_shrink(self, running, pods):
        """An activator that has received that two of three pods go; it has applied nothing yet."""
        activator = self.activator(running).wait(lambda a: a.snapshot == 1, 'the snapshot')
        self.assertEqual(activator.states['app']['avoid'], [])
        eventually(lambda: all(pod.scrapes for pod in pods), 'a scrape of every pod')
        # A bound needs no proof: it applies at once.
        self.platform.revision('app', [pod.entry() for pod in pods],
                               annotations={'autoscaling.knative.dev/max-scale': '1'})
        return activator.wait(lambda a: a.states['app']['avoid'], 'pods to avoid')

    def test_pods_are_given_up_idlest_first_once_applied(self):
        pods = self.three_pods()
        running = self.start()
        activator = self.told_to_shrink(running, pods)

        self.assertEqual(activator.states['app']['granted'], 1)
        self.assertEqual(activator.states['app']['avoid'],
                         sorted([pods[1].address, pods[2].address]))
        order = self.platform.wait_for_scale('app', lambda o: o['replicas'] == 1)
        self.assertEqual(order['remove'], [])
        activator.apply('app')
        order = self.platform.wait_for_scale('app', lambda o: o['remove'])

        self.assertEqual(order['remove'], ['pod-2', 'pod-3'])
        # A pod that is gone is no longer named.
        self.platform.revision('app', [pods[0].entry(), pods[2].entry()],
                               annotations={'autoscaling.knative.dev/max-scale': '1'})
        self.platform.wait_for_scale('app', lambda o: o['remove'] == ['pod-3'])

    def test_an_activator_that_disconnects_delays_nothing_for_long(self):
        pods = self.three_pods()
        running = self.start()
        activator = self.told_to_shrink(running, pods)

        activator.close()

        self.platform.wait_for_scale('app', lambda o: len(o['remove']) == 2, seconds=30)

    def test_a_restart_keeps_what_may_be_stopped(self):
        pods = self.three_pods()
        running = self.start()
        activator = self.told_to_shrink(running, pods)
        activator.apply('app')
        before = self.platform.wait_for_scale('app', lambda o: o['remove'])
        running.kill()

        again = self.start()

        activator = self.activator(again).wait(lambda a: a.snapshot == 1, 'the snapshot')
        self.assertEqual(activator.states['app']['avoid'],
                         sorted([pods[1].address, pods[2].address]))
        self.assertEqual(self.platform.scale('app'), before)

    def test_versions_grow_over_a_restart(self):
        self.asleep()
        running = self.start()
        first = self.activator(running).wait(lambda a: a.snapshot == 1, 'the snapshot')
        running.kill()

        second = self.activator(self.start()).wait(lambda a: a.snapshot == 1, 'the snapshot')

        self.assertGreater(second.states['app']['version'], first.states['app']['version'])

    def test_a_removed_revision_is_reported(self):
        self.asleep()
        running = self.start()
        activator = self.activator(running).wait(lambda a: a.snapshot == 1, 'the snapshot')

        self.platform.forget('app')

        activator.wait(lambda a: a.gone == ['app'], 'the going')
        eventually(lambda: self.platform.scale('app') is None, 'the end of the order')

    def test_another_protocol_is_refused_with_both_numbers(self):
        running = self.start()

        activator = self.activator(running, protocol=7)

        activator.wait(lambda a: a.status is not None, 'the refusal')
        self.assertEqual(activator.status, 9)
        self.assertIn('7', activator.message)
        self.assertIn('1', activator.message)

    def test_without_activators_nothing_goes_to_zero(self):
        pod = self.pod('pod-1')
        self.platform.revision('app', [pod.entry()], annotations=SHORT)
        running = self.start()

        def decided_zero():
            decision = running.api('/services/default/app/explain').json()
            return decision if decision['desired'] == 0 else None

        eventually(decided_zero, 'a decider that wants zero', 40)
        self.assertEqual(self.platform.scale('app')['replicas'], 1)
        activator = self.activator(running).wait(lambda a: a.snapshot == 1, 'the snapshot')

        activator.wait(lambda a: a.states['app']['granted'] == 0, 'zero', 60)
        activator.apply('app')
        self.platform.wait_for_scale('app', lambda o: o['remove'] == ['pod-1'])
