"""Sluice as helm installs it: Deployments that sleep, wake by a request and grow with the load."""

import threading

from wire import eventually, fetch

from lab.chart import NAMESPACE
from lab.installed import LONG, InstalledCase

COLUMNS = 'NAME READY WANT ACTUAL MIN MAX TARGET REASON AGE'.split()
CLIENTS = 8
LOAD_MS = 400


class SleepingDeployments(InstalledCase):
    def test_a_request_to_the_service_wakes_a_sleeping_deployment(self):
        self.workload('web')
        self.scale('web')
        self.wait_routed('web')

        answer = self.ask('web')

        self.assertEqual(answer.status, 200)
        self.assertTrue(answer.body.startswith(b'app web-'), answer.body)
        self.asleep('web')

    def test_a_deployment_grows_with_the_load_and_sleeps_after_it(self):
        self.workload('web')
        self.scale('web', {'max': 4})
        self.wait_routed('web')
        answered, over = [], threading.Event()
        crowd = [threading.Thread(target=self.keep_asking, args=('web', answered, over)) for _ in range(CLIENTS)]
        for client in crowd:
            client.start()
        try:
            self.wait_replicas('web', lambda count: count >= 3, 'three replicas or more')
            eventually(lambda: self.column('ACTUAL') >= 3, 'they are Ready', LONG)
            eventually(lambda: len(answered) > CLIENTS, 'clients have come again', LONG)
        finally:
            over.set()
            for client in crowd:
                client.join()

        self.assertEqual(set(answered), {200})
        self.asleep('web')

    def keep_asking(self, name, answered, over):
        address = self.address(name)
        while not over.is_set():
            try:
                answer = fetch(address, f'/?ms={LOAD_MS}', timeout=60)
                answered.append(answer.status if answer else 'closed')
            except OSError as problem:
                answered.append(repr(problem))

    def column(self, name):
        """A number of `kubectl get rqs web`; -1 while it is not told. MIN is empty in these."""
        lines = self.lab.kubectl('-n', self.place.name, 'get', 'rqs', 'web').splitlines()
        at = lines[0].index(name)
        word = lines[1][at:].split()[0] if lines[1][at:at + 1].strip() else ''
        return int(word) if word.isdigit() else -1

    def test_kubectl_shows_desired_and_ready_replicas(self):
        self.workload('web')
        self.scale('web', {'min': 1, 'max': 4})
        self.wait_ready('web', 1)

        eventually(lambda: self.row('web')[1:8] == ['True', '1', '1', '1', '4', '2', 'Serving'],
                   'the columns say that one is wanted and there')

    def row(self, name):
        lines = self.lab.kubectl('-n', self.place.name, 'get', 'rqs', name).splitlines()
        self.assertEqual(lines[0].split(), COLUMNS)
        return lines[1].split()

    def test_a_service_with_a_selector_is_given_back(self):
        self.place.deploy('web', 1)
        self.wait_ready('web', 1)
        before = self.api.get(self.place.path('services', 'web'))['spec']['selector']
        self.scale('web', service={'adopt': True})
        eventually(lambda: 'selector' not in self.api.get(self.place.path('services', 'web'))['spec'],
                   'it is taken over', LONG)
        self.wait_routed('web')
        self.assertEqual(self.ask('web').status, 200)

        self.api.delete(self.place.path('requestscalers', 'web'))

        eventually(lambda: self.api.get(self.place.path('services', 'web'))['spec'].get('selector') == before,
                   'it has its selector again')


class Rights(InstalledCase):
    def test_the_programs_request_nothing_that_their_accounts_may_not(self):
        self.workload('web')
        self.scale('web')
        self.wait_routed('web')

        # A kubelet may be too early for the config maps of a new pod; a program that lacks a right lacks it each time.
        refused = self.refused_in_a_restart('web') & self.refused_in_a_restart('web')

        self.assertEqual(refused, set())

    def refused_in_a_restart(self, name):
        """Series of requests that were refused while all programs began again."""
        before = self.forbidden()
        self.lab.kubectl('-n', NAMESPACE, 'rollout', 'restart', 'deployment')
        self.chart.wait_ready()
        self.assertEqual(self.ask(name).status, 200)
        return {line.rsplit(' ', 1)[0] for line in set(self.forbidden()) - set(before)}

    def forbidden(self):
        """Series of the API server for requests that were refused for want of a right."""
        _, _, said = self.api.ask('GET', '/metrics', Accept='text/plain')
        return [line for line in said.decode().splitlines()
                if line.startswith('apiserver_request_total{') and 'code="403"' in line]
