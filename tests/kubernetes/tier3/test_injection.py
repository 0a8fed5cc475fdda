"""Pods that are created in a labelled namespace, with the injector that helm has installed."""

import re
import threading
import time

from wire import eventually, fetch

from lab.chart import DEPLOYMENTS, NAMESPACE, WEBHOOKS
from lab.installed import LONG, SIDECAR, InstalledCase
from lab.objects import deployment

SECRET = f'/api/v1/namespaces/{NAMESPACE}/secrets/injector-certificates'
INJECTOR = f'{DEPLOYMENTS}/injector'
SERVING = 8012
METRICS = 9091
LONG_MS = 8000
GRACE = 36   # seconds; a third of it the sidecar serves on, which is longer than LONG_MS


def names(pod, kind):
    return [one['name'] for one in pod['spec'].get(kind, ())]


class InjectionCase(InstalledCase):
    def pod_of(self, name, **pod):
        self.workload(name, 1, **pod)
        return self.wait_ready(name, 1)[0]

    def log_of(self, pod, container):
        """The open file of a container's output: it is gone from its folder as soon as the pod is."""
        name = pod['metadata']['name']
        folder = next((self.lab.folder / 'podlogs').glob(f'{self.place.name}_{name}_*'))
        log = open(folder / container / '0.log', encoding='utf-8')
        self.addCleanup(log.close)
        return log

    def assert_drains(self, pod):
        """A request that runs when the pod is deleted is answered, and only then does the app get SIGTERM."""
        log, answers, text = self.log_of(pod, 'app'), [], []
        address = f'{pod["status"]["podIP"]}:{SERVING}'
        asking = threading.Thread(target=lambda: answers.append(fetch(address, f'/?ms={LONG_MS}', timeout=60)))
        asked = time.time()
        asking.start()
        eventually(lambda: self.in_flight(address), 'the request runs')
        self.api.delete(self.place.path('pods', pod['metadata']['name']))
        asking.join()

        self.assertEqual(answers[0].status, 200)
        eventually(lambda: text.append(log.read()) or 'ended' in ''.join(text), 'the app was told', LONG)
        told = int(re.search(r' sigterm (\d+)', ''.join(text))[1])
        self.assertGreaterEqual(told, 1000 * asked + LONG_MS)

    @staticmethod
    def in_flight(address):
        said = fetch(f'{address.split(":")[0]}:{METRICS}', '/metrics').body.decode()
        return any(line.startswith('http_server_active_requests{') and line.endswith(' 1')
                   for line in said.splitlines())

    def injectors(self, count):
        """So many of them, Ready."""
        self.api.patch(f'{INJECTOR}/scale', {'spec': {'replicas': count}})
        eventually(lambda: len(self.chart.pods('injector')) == count, f'{count} injectors', 60)
        self.chart.wait_ready()


class NativeSidecars(InjectionCase):
    def test_the_sidecar_is_the_last_init_container_and_stays(self):
        pod = self.pod_of('web')

        self.assertEqual(names(pod, 'containers'), ['app'])
        self.assertEqual(names(pod, 'initContainers')[-1], SIDECAR)
        self.assertEqual(pod['spec']['initContainers'][-1]['restartPolicy'], 'Always')
        self.assertIn('sluice.dev/injected', pod['metadata']['annotations'])

    def test_it_drains_before_the_app_is_told_to_go(self):
        self.assert_drains(self.pod_of('web', terminationGracePeriodSeconds=GRACE))

    def test_a_pod_that_says_no_has_none(self):
        self.place.create('deployments', deployment('web', labels={'sluice.dev/inject': 'false'}))
        pod = self.wait_ready('web', 1)[0]

        self.assertNotIn('initContainers', pod['spec'])
        self.assertEqual(names(pod, 'containers'), ['app'])

    def test_a_pod_that_says_yes_has_one_in_any_namespace(self):
        self.api.patch(f'/api/v1/namespaces/{self.place.name}', {'metadata': {'labels': {'sluice.dev/inject': None}}})
        self.wait_injection(False)
        self.place.create('deployments', deployment('plain'))
        self.place.create('deployments', deployment('web', labels={'sluice.dev/inject': 'true'}))

        self.assertEqual(names(self.wait_ready('web', 1)[0], 'initContainers'), [SIDECAR])
        self.assertNotIn('initContainers', self.wait_ready('plain', 1)[0]['spec'])


class OrdinarySidecars(InjectionCase):
    VALUES = {'injection': {'nativeSidecar': 'false'}}

    def test_the_sidecar_is_a_container_and_drains_before_the_app_is_told_to_go(self):
        pod = self.pod_of('web', terminationGracePeriodSeconds=GRACE)

        self.assertEqual(sorted(names(pod, 'containers')), ['app', SIDECAR])
        self.assertNotIn('initContainers', pod['spec'])
        self.assert_drains(pod)


class Injectors(InjectionCase):
    def test_one_that_is_started_again_keeps_the_certificate(self):
        before, bundle = self.api.get(SECRET)['data'], self.bundle()
        old = self.chart.pods('injector')[0]

        self.chart.kill(old)
        eventually(lambda: [one['metadata']['uid'] for one in self.chart.pods('injector')] !=
                   [old['metadata']['uid']], 'another one is there', LONG)
        self.chart.wait_ready()
        self.wait_injection(True)

        self.assertEqual(names(self.pod_of('web'), 'initContainers'), [SIDECAR])
        self.assertEqual(self.api.get(SECRET)['data'], before)
        self.assertEqual(self.bundle(), bundle)

    def bundle(self):
        return [one['clientConfig']['caBundle'] for one in self.api.get(WEBHOOKS)['webhooks']]

    def test_while_none_answers_pods_start_without_a_sidecar(self):
        self.injectors(0)
        self.addCleanup(self.injectors, 1)

        self.assertNotIn('initContainers', self.pod_of('web')['spec'])


class StrictInjectors(InjectionCase):
    VALUES = {'injection': {'failurePolicy': 'Fail'}}

    def test_while_none_answers_pods_wait_if_the_policy_is_fail(self):
        self.injectors(0)
        try:
            self.workload('web', 1)
            eventually(lambda: any(one['reason'] == 'FailedCreate'
                                   for one in self.api.items(self.place.path('events'))), 'it is refused', 60)
            self.assertEqual(self.place.pods('web'), [])
        finally:
            self.injectors(1)

        # Who was refused is tried again after twice as long each time.
        self.assertEqual(names(self.wait_ready('web', 1, 180)[0], 'initContainers'), [SIDECAR])
