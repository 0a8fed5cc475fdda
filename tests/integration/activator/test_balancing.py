"""Which pod gets a request, by policy, by limit and among several activators (activator.md 5, 14.2)."""

import threading
import unittest

from activator.case import ActivatorCase, eventually, requests_of, sidecar_play
from queue_proxy.case import free_port

OK = b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'


class Balancing(ActivatorCase):
    def gated(self, count):
        """`count` pods that answer when `self.gate` is set."""
        self.gate = threading.Event()
        self.addCleanup(self.gate.set)

        def answer(exchange):
            self.gate.wait(20)
            exchange.send(OK)

        pods = [self.played(sidecar_play(answer)) for _ in range(count)]
        return sorted(pods, key=lambda pod: pod.address)

    @staticmethod
    def entries(pods):
        return [(f'pod-{number}', pod.address) for number, pod in enumerate(pods)]

    def usable(self, door, count):
        passed = 'sluice_activator_pod_probes_total{result="passed"}'
        eventually(lambda: door.metrics()[passed] >= count, f'{count} pods probed')

    def spread(self, pods):
        return [len(requests_of(pod)) for pod in pods]

    def hold(self, door, pods, count):
        asked = []
        for number in range(count):
            asked.append(self.ask(door, f'/{number}'))
            eventually(lambda n=number: sum(self.spread(pods)) + door.waiting() == n + 1, 'placed')
        return asked

    def finish(self, asked):
        self.gate.set()
        for one in asked:
            self.assert_answer(one.result(), 200, b'ok')

    def test_row_36_a_small_limit_fills_the_first_pod_first(self):
        pods = self.gated(3)
        self.platform.revision(pods=self.entries(pods), container_concurrency=3)
        door = self.activator()
        self.usable(door, 3)
        asked = self.hold(door, pods, 3)
        self.assertEqual(self.spread(pods), [3, 0, 0])
        self.finish(asked)

    def test_row_37_a_larger_limit_spreads(self):
        for policy in ({}, {'sluice.dev/load-balancing': 'round-robin'}):
            pods = self.gated(3)
            self.platform.revision(pods=self.entries(pods), container_concurrency=5,
                                   annotations=policy)
            door = self.activator()
            self.usable(door, 3)
            asked = self.hold(door, pods, 3)
            self.assertEqual(self.spread(pods), [1, 1, 1])
            self.finish(asked)
            door.close()

    def test_row_38_a_limit_of_one_uses_both_pods_and_holds_the_third_request(self):
        pods = self.gated(2)
        self.platform.revision(pods=self.entries(pods), container_concurrency=1)
        door = self.activator()
        self.usable(door, 2)
        asked = self.hold(door, pods, 3)
        self.assertEqual(self.spread(pods), [1, 1])
        self.assertEqual(door.waiting(), 1)
        self.finish(asked)

    def test_row_45_of_two_the_unloaded_pod_is_chosen(self):
        pods = self.gated(2)
        self.platform.revision(pods=self.entries(pods),
                               annotations={'sluice.dev/load-balancing': 'random-choice-2'})
        door = self.activator()
        self.usable(door, 2)
        asked = self.hold(door, pods, 2)
        self.assertEqual(self.spread(pods), [1, 1])
        self.finish(asked)

    def test_an_unknown_policy_is_logged_and_ignored(self):
        pods = self.gated(1)
        self.gate.set()
        self.platform.revision(pods=self.entries(pods),
                               annotations={'sluice.dev/load-balancing': 'fastest'})
        door = self.activator()
        self.assertEqual(door.get().status, 200)
        self.assertEqual(door.metrics()['sluice_activator_choices_total{policy="least-in-flight"}'],
                         1)

    def test_row_57_a_pod_that_leaves_the_file_gets_no_new_requests_and_finishes_its_own(self):
        pods = self.gated(2)
        self.platform.revision(pods=self.entries(pods), container_concurrency=3)
        door = self.activator()
        self.usable(door, 2)
        asked = self.hold(door, pods, 2)
        self.assertEqual(self.spread(pods), [2, 0])
        self.platform.pods_of(self.entries(pods)[1:])
        more = []

        def moved():
            more.append(self.ask(door))
            return self.spread(pods)[1] > 0

        eventually(moved, 'the other pod used')
        self.finish(asked)
        for one in more:
            self.assertEqual(one.result().status, 200)

    def test_a_terminating_pod_gets_no_new_requests(self):
        pods = self.gated(2)
        self.gate.set()
        first, second = pods
        self.platform.revision(pods=[
            {'name': 'a', 'address': first.address, 'ready': True, 'terminating': True},
            {'name': 'b', 'address': second.address, 'ready': True}])
        door = self.activator()
        for _ in range(4):
            self.assertEqual(door.get().status, 200)
        self.assertEqual(self.spread(pods), [0, 4])


class Subsets(ActivatorCase):
    def test_rows_27_and_34_pods_are_shared_out_and_taken_over(self):
        pods = sorted((self.played() for _ in range(5)), key=lambda pod: pod.address)
        entries = [(f'pod-{number}', pod.address) for number, pod in enumerate(pods)]
        self.platform.revision(pods=entries, container_concurrency=1)
        ports = sorted(str(free_port()) for _ in range(2))
        doors = [self.activator(POD_NAME=f'activator-{port}',
                                SLUICE_HTTP_ADDRESS=f'127.0.0.1:{port}') for port in ports]
        self.platform.activators(door.serving for door in doors)
        for number, door in enumerate(doors):
            eventually(lambda n=number, d=door: d.metrics()['sluice_activator_index'] == n, 'placed')
        for door in doors:
            for _ in range(12):
                self.assertEqual(door.get(f'/{door.serving}').status, 200)
        shares = [[number for number, pod in enumerate(pods) if any(
            one.path == f'/{door.serving}' for one in requests_of(pod))] for door in doors]
        self.assertLessEqual(set(shares[0]), {0, 1, 4})
        self.assertLessEqual(set(shares[1]), {2, 3})
        self.platform.activators([doors[0].serving])
        capacity = 'sluice_activator_listed_pods'
        eventually(lambda: doors[0].metrics()[capacity] == 5, 'all taken over')

    def test_row_32_an_activator_missing_from_the_file_keeps_its_place(self):
        pod = self.played()
        self.platform.revision(pods=[('p', pod.address)], container_concurrency=1)
        door = self.activator()
        self.platform.activators([door.serving, '127.0.0.1:1'])
        eventually(lambda: door.metrics()['sluice_activator_index'] >= 0, 'placed')
        place = door.metrics()['sluice_activator_index']
        self.platform.activators(['127.0.0.1:1'])
        self.platform.revision('mark', pods=[('p', pod.address)])
        eventually(lambda: door.get(revision='mark').status == 200, 'heard')
        self.assertEqual(door.metrics()['sluice_activator_index'], place)


if __name__ == '__main__':
    unittest.main()
