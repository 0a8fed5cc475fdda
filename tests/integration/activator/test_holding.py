"""Requests that wait: at zero, in order, within bounds, until a client or a limit ends the wait (activator.md 5,
14.3)."""

import threading
import unittest

from activator.autoscalers import KnativeAutoscaler
from activator.case import ActivatorCase, Asker, eventually, requests_of, sidecar_play
from wire import request_bytes

NAMED = [('Knative-Serving-Namespace', 'default'), ('Knative-Serving-Revision', 'app')]
OVERFLOW = b'pending request queue full\n'


class Holding(ActivatorCase):
    def asleep(self, environment=None, **fields):
        self.platform.revision(pods=[], **fields)
        return self.activator(**(environment or {}))

    def test_row_29_without_pods_requests_wait_and_a_pod_serves_them_all(self):
        door = self.asleep()
        asked = [self.ask(door, f'/{number}') for number in range(10)]
        self.wait_for_waiting(door, 10)
        pod = self.pod()
        self.platform.pods_of([pod.entry])
        for one in asked:
            self.assert_answer(one.result(), 200, b'ok')

    def test_first_come_is_first_served(self):
        door = self.asleep(container_concurrency=1)
        asked = []
        for number in range(20):
            asked.append(self.ask(door, f'/{number}'))
            self.wait_for_waiting(door, number + 1)
        pod = self.played()
        self.platform.pods_of([('p', pod.address)])
        for one in asked:
            self.assert_answer(one.result(), 200, b'ok')
        self.assertEqual([one.path for one in requests_of(pod)], [f'/{n}' for n in range(20)])

    def test_row_18_the_queue_of_a_revision_has_an_end(self):
        door = self.asleep({'SLUICE_QUEUE_DEPTH': '2'})
        held = [self.ask(door) for _ in range(2)]
        self.wait_for_waiting(door, 2)
        answer = door.get()
        self.assert_answer(answer, 503, OVERFLOW)
        self.assert_cause(answer, 'queue-full')
        self.assertGreaterEqual(int(answer.headers['retry-after']), 1)
        self.platform.forget()
        for one in held:
            self.assertEqual(one.result().status, 500)

    def test_all_queues_together_have_an_end_by_count_and_by_memory(self):
        for limit in ({'SLUICE_QUEUE_TOTAL': '1'}, {'SLUICE_QUEUE_BYTES': '65536'}):
            door = self.asleep(limit)
            held = []

            def refused(door=door, held=held):
                held.append(self.ask(door))
                return door.metrics()['sluice_activator_refused_total{reason="queue-full"}'] > 0

            eventually(refused, f'refused by {limit}')
            self.assertGreater(door.waiting(), 0)
            door.close()

    def test_row_17_a_wait_that_is_too_long_ends(self):
        door = self.asleep({'SLUICE_QUEUE_WAIT': '50ms'})
        answer = door.get()
        self.assert_answer(answer, 503, b'context deadline exceeded\n')
        self.assert_cause(answer, 'queue-wait')

    def test_row_46_a_revision_that_goes_while_requests_wait_says_500_and_nothing(self):
        door = self.asleep()
        held = self.ask(door)
        self.wait_for_waiting(door, 1)
        self.platform.forget()
        answer = held.result()
        self.assert_answer(answer, 500, b'')
        self.assert_cause(answer, 'no-route')

    def test_row_74_a_cold_start_that_outlasts_the_revision_times_out_and_frees_its_place(self):
        door = self.asleep({'SLUICE_QUEUE_DEPTH': '1'}, timeout_seconds=1)
        answer = door.get()
        self.assert_answer(answer, 504, b'activator request timeout')
        self.assert_cause(answer, 'timeout')
        self.assertEqual(door.waiting(), 0)
        self.assert_answer(door.get(), 504, b'activator request timeout')

    def test_row_75_a_client_that_leaves_a_queued_post_leaves_the_queue(self):
        door = self.asleep()
        sock = door.connect()
        sock.sendall(request_bytes('POST', '/gone', 'app', NAMED, b'body'))
        self.wait_for_waiting(door, 1)
        sock.close()
        self.wait_for_waiting(door, 0)
        pod = self.played()
        self.platform.pods_of([('p', pod.address)])
        self.assert_answer(door.get('/next'), 200, b'ok')
        self.assertEqual([one.path for one in requests_of(pod)], ['/next'])

    def test_a_body_is_not_read_while_its_request_waits(self):
        door = self.asleep()
        sock = door.connect(2)
        self.addCleanup(sock.close)
        sock.sendall(b'POST / HTTP/1.1\r\nHost: app\r\nKnative-Serving-Namespace: default\r\n'
                     b'Knative-Serving-Revision: app\r\nContent-Length: 100000000\r\n\r\n')
        self.wait_for_waiting(door, 1)
        sent = 0
        try:
            while sent < 100000000:
                sent += sock.send(b'x' * 65536)
        except TimeoutError:
            pass
        self.assertLess(sent, 32 << 20)
        self.assertLess(door.metrics()['sluice_activator_queue_bytes'], 1 << 20)

    def test_a_grpc_timeout_ends_a_wait_before_the_revision_does(self):
        door = self.asleep()
        answer = door.get(headers=[('Content-Type', 'application/grpc'), ('Grpc-Timeout', '50m')])
        self.assertEqual(answer.status, 503)
        self.assert_cause(answer, 'queue-wait')

    def test_the_cold_start_is_in_headers_when_configured(self):
        door = self.asleep({'SLUICE_COLD_START_HEADER': 'true'})
        asked = self.ask(door)
        self.wait_for_waiting(door, 1)
        pod = self.pod()
        self.platform.pods_of([pod.entry])
        answer = asked.result()
        self.assertGreaterEqual(int(answer.headers['sluice-cold-start']), 0)
        for phase in ('queue', 'decide', 'create', 'start', 'ready', 'first_byte'):
            self.assertRegex(answer.headers['server-timing'], rf'\b{phase};dur=\d')
        self.assertNotIn('server-timing', door.get().headers)
        phases = [name for name in door.metrics() if name.startswith(
            'sluice_activator_cold_start_seconds_count')]
        self.assertEqual(len(phases), 4)

    def test_row_35_what_does_not_fit_on_the_pods_waits_until_its_deadline(self):
        gate = threading.Event()
        self.addCleanup(gate.set)
        pod = self.played(sidecar_play(lambda exchange: (gate.wait(20), exchange.send(
            b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'))))
        self.platform.revision(pods=[('p', pod.address)], container_concurrency=1)
        door = self.activator(SLUICE_QUEUE_WAIT='100ms')
        first = self.ask(door)
        eventually(lambda: requests_of(pod), 'running')
        self.assertEqual(door.get().status, 503)
        gate.set()
        self.assert_answer(first.result(), 200, b'ok')


class Waking(ActivatorCase):
    def test_row_61_the_first_request_is_reported_at_once_and_a_lost_poke_again(self):
        autoscaler = KnativeAutoscaler()
        self.addCleanup(autoscaler.close)
        self.platform.revision(pods=[])
        door = self.activator(SLUICE_STATS_TARGET=autoscaler.address)
        autoscaler.wait(lambda: autoscaler.connections == 1, 'connected')
        held = self.ask(door)
        autoscaler.wait(lambda: autoscaler.frames, 'a frame')
        self.assertEqual(autoscaler.figures('app')[0], (1.0, 1.0))
        self.assertEqual(autoscaler.frames[0][0][2][1], b'activator-1')
        autoscaler.frames.clear()
        autoscaler.restart()
        autoscaler.wait(lambda: autoscaler.connections == 2, 'again')
        autoscaler.wait(lambda: autoscaler.frames, 'told again')
        self.assertEqual(autoscaler.figures('app')[0], (1.0, 1.0))
        self.platform.forget()
        held.result()


if __name__ == '__main__':
    unittest.main()
