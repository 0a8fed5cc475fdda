"""Ignore rules: requests that are served like all others, counted nowhere, and that wake no pod."""

import threading
import unittest

from activator.autoscalers import StreamAutoscaler
from activator.case import KUBELET, ActivatorCase, eventually, requests_of, sidecar_play

RULES = {'autoscaling.sluice.dev/ignore-paths': '/healthz\n/metrics*',
         'autoscaling.sluice.dev/ignore-user-agents': '(?i)uptime'}
IGNORED = [('/healthz', ()), ('/metrics/cpu?x=1', ()), ('/', (('User-Agent', 'UptimeRobot/2.0'),))]
COUNTED = 'sluice_activator_ignored_total'


class Ignore(ActivatorCase):
    def linked(self, **fields):
        self.autoscaler = StreamAutoscaler()
        self.addCleanup(self.autoscaler.close)
        self.platform.revision(annotations=RULES, **fields)
        door = self.activator(SLUICE_AUTOSCALER_ADDRESS=self.autoscaler.address)
        eventually(lambda: door.get(revision=None, headers=[KUBELET]).status == 200, 'welcomed')
        return door

    def told(self):
        """Requests of app that were reported to the autoscaler."""
        return sum(stat.get(4, 0.0) for stats, _ in list(self.autoscaler.batches)
                   for _, name, stat in stats if name == 'app')

    def gated(self):
        """A pod that answers when self.gate is set."""
        self.gate = threading.Event()
        self.addCleanup(self.gate.set)

        def answer(exchange):
            self.gate.wait()
            exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')

        return self.played(sidecar_play(answer=answer))

    def test_without_a_pod_they_get_503_asleep_and_no_pod_is_started(self):
        door = self.linked(pods=[])

        for path, headers in IGNORED:
            answer = door.get(path, headers=headers)
            self.assert_answer(answer, 503, b'service is scaled to zero; this request matches an ignore rule and '
                                            b'does not wake it\n')
            self.assert_cause(answer, 'asleep')
            self.assertEqual(answer.headers['retry-after'], '1')
        held = self.ask(door, '/cart')
        self.autoscaler.wait(lambda: self.told() > 0, 'a poke')

        self.assertEqual(self.told(), 1)
        series = door.metrics()
        self.assertEqual((series[COUNTED], series['sluice_activator_refused_total{reason="asleep"}']),
                         (len(IGNORED), len(IGNORED)))
        self.platform.forget()
        held.result()

    def test_with_a_pod_they_are_served_and_not_counted(self):
        pod = self.played()
        door = self.linked(pods=[('p1', pod.address)])
        eventually(lambda: door.metrics()['sluice_activator_listed_pods'] == 1, 'listed')

        for path, headers in IGNORED:
            self.assertEqual(door.get(path, headers=headers).status, 200)
        self.assertEqual(door.get('/cart').status, 200)
        self.autoscaler.wait(lambda: self.told() > 0, 'the one that counts')

        self.assertEqual(self.told(), 1)
        self.assertEqual(len(requests_of(pod)), len(IGNORED) + 1)

    def test_ignored_requests_wait_for_their_turn_and_not_for_a_pod(self):
        pod = self.gated()
        door = self.linked(pods=[('p1', pod.address)], container_concurrency=1)
        eventually(lambda: door.metrics()['sluice_activator_listed_pods'] == 1, 'listed')
        running = self.ask(door, '/cart')
        eventually(lambda: len(requests_of(pod)) == 1, 'running')
        waiting = [self.ask(door, '/healthz') for _ in range(3)]
        self.wait_for_waiting(door, 3)
        heard = len(self.autoscaler.batches)
        self.autoscaler.wait(lambda: len(self.autoscaler.batches) > heard + 1, 'a later report')
        self.assertEqual(self.autoscaler.batches[-1][1], {})

        self.platform.pods_of([])

        for one in waiting:
            self.assert_cause(one.result(), 'asleep')
        self.gate.set()
        self.assertEqual(running.result().status, 200)
        self.assertEqual(door.waiting(), 0)

    def test_a_request_that_waited_for_its_turn_is_served(self):
        pod = self.gated()
        door = self.linked(pods=[('p1', pod.address)], container_concurrency=1)
        eventually(lambda: door.metrics()['sluice_activator_listed_pods'] == 1, 'listed')
        asked = [self.ask(door, path) for path in ('/cart', '/healthz', '/healthz', '/cart', '/healthz')]
        self.wait_for_waiting(door, 4)

        self.gate.set()

        self.assertEqual([one.result().status for one in asked], [200] * 5)

    def test_rules_that_are_edited_hold_for_the_next_request(self):
        pods = [('p1', self.played().address)]
        door = self.linked(pods=pods)
        self.assertEqual(door.get('/live').status, 200)
        self.assertEqual(door.metrics()[COUNTED], 0)

        self.platform.revision(pods=pods, annotations={'autoscaling.sluice.dev/ignore-paths': '/live'})

        eventually(lambda: door.get('/live').status == 200 and door.metrics()[COUNTED] > 0, 'the new rule')
        before = door.metrics()[COUNTED]
        self.assertEqual(door.get('/healthz').status, 200)
        self.assertEqual(door.metrics()[COUNTED], before)

    def test_a_rule_that_is_wrong_is_named_and_the_others_hold(self):
        self.platform.revision(pods=[], annotations={
            'autoscaling.sluice.dev/ignore-user-agents': '(\n^bot'})
        door = self.activator()

        self.assert_cause(door.get(headers=[('User-Agent', 'bot')]), 'asleep')
        eventually(lambda: 'not a valid RE2 expression' in door.errors(), 'the rule is named')


if __name__ == '__main__':
    unittest.main()
