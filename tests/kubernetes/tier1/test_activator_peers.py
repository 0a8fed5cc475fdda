"""The activator among others on a real API server: its peers, and which requests are not counted."""

import unittest

from activator.autoscalers import StreamAutoscaler
from wire import eventually, fetch, scraped

from tier1.test_activator import ActivatorCase


class Ignored(ActivatorCase):
    def test_a_request_that_matches_ignore_rules_wakes_no_pod_and_is_served_by_a_running_one(self):
        upstream = self.upstream()
        self.scaler('web', 20_061, ignore={'paths': ['/healthz*'], 'userAgents': ['(?i)uptime']})
        activator = self.activator()
        door = self.wait_door(activator, 20_061)
        asked = [('/healthz/deep', []), ('/', [('User-Agent', 'UptimeRobot')])]

        for path, headers in asked:
            answer = fetch(door, path, headers=headers)
            self.assertEqual((answer.status, answer.headers['retry-after']), (503, '1'))
            self.assertTrue(answer.headers['sluice-error'].startswith('asleep'))
        self.pod('web-1', 'web', upstream)
        self.wait_metric(activator, 'sluice_activator_listed_pods', 1)

        for path, headers in asked:
            self.assertEqual(fetch(door, path, headers=headers).status, 200)
        self.assertEqual(scraped(activator.addresses['metrics'])['sluice_activator_ignored_total'], 4)


class Autoscalers(ActivatorCase):
    """Behind one headless Service: a stream to each replica."""

    FIRST, SECOND = '10.99.2.1', '10.99.2.2'

    def autoscaler(self, ip, port=0):
        made = StreamAutoscaler(port, host=ip)
        self.addCleanup(made.close)
        return made

    def slice(self, port, *ips):
        return {'metadata': {'name': 'autoscaler-1', 'labels': {'kubernetes.io/service-name': 'autoscaler'}},
                'addressType': 'IPv4', 'ports': [{'name': 'grpc', 'port': port}],
                'endpoints': [{'addresses': [ip], 'conditions': {'ready': True}} for ip in ips]}

    def replicas(self, port, *ips):
        self.api.patch(self.place.path('endpointslices', 'autoscaler-1'),
                       {'endpoints': self.slice(port, *ips)['endpoints']})

    def linked(self, port, *ips):
        self.create('endpointslices', self.slice(port, *ips))
        name = f'autoscaler.{self.place.name}.svc.cluster.local:{port}'
        return self.activator(SLUICE_AUTOSCALER_ADDRESS=name)

    def test_every_replica_is_greeted(self):
        first = self.autoscaler(self.FIRST)
        second = self.autoscaler(self.SECOND, first.port)
        self.linked(first.port, self.FIRST, self.SECOND)

        for replica in (first, second):
            replica.wait(lambda one=replica: len(one.hellos) == 1, 'a greeting')

    def test_a_replica_that_is_added_is_greeted_and_a_removed_one_is_disconnected(self):
        first = self.autoscaler(self.FIRST)
        second = self.autoscaler(self.SECOND, first.port)
        activator = self.linked(first.port, self.FIRST)
        first.wait(lambda: first.hellos, 'a greeting')

        self.replicas(first.port, self.FIRST, self.SECOND)
        second.wait(lambda: second.hellos, 'a greeting')
        self.replicas(first.port, self.SECOND)
        eventually(lambda: 'autoscaler is no longer listed' in activator.errors(), 'the first is left')
        heard = len(second.batches)
        second.wait(lambda: len(second.batches) > heard, 'another batch')

        self.assertEqual((len(first.hellos), len(second.hellos)), (1, 1))

    def test_without_any_replica_the_last_one_is_kept(self):
        only = self.autoscaler(self.FIRST)
        activator = self.linked(only.port, self.FIRST)
        only.wait(lambda: only.hellos, 'a greeting')

        self.replicas(only.port)
        self.scaler('web', 20_051)
        self.wait_door(activator, 20_051)
        heard = len(only.batches)
        only.wait(lambda: len(only.batches) > heard, 'another batch')

        self.assertEqual(len(only.hellos), 1)


if __name__ == '__main__':
    unittest.main()
