"""A pod that does not take a request, and another one that does (activator.md 14.5)."""

import socket
import unittest

from activator.case import ActivatorCase, eventually, requests_of, sidecar_play
from queue_proxy.case import free_port

DRAINING = (b'HTTP/1.1 503 Service Unavailable\r\nSluice-Error: draining; at=queue-proxy\r\n'
            b'Retry-After: 1\r\nContent-Length: 14\r\n\r\nshutting down\n')
FULL = DRAINING.replace(b'draining', b'queue-full').replace(b'shutting down\n', b'pending queue\n')
PLAIN = b'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy'


class Retry(ActivatorCase):
    def two(self, answer, **fields):
        """A first pod that answers `answer` and a second one that serves."""
        first = self.played(sidecar_play(answer))
        second = self.played()
        entries = sorted([('bad', first.address), ('good', second.address)], key=lambda e: e[1])
        self.platform.revision(pods=entries, annotations={
            'sluice.dev/load-balancing': 'round-robin'}, **fields)
        door = self.activator()
        passed = 'sluice_activator_pod_probes_total{result="passed"}'
        eventually(lambda: door.metrics()[passed] >= 2, 'both probed')
        return door, first, second

    def retries(self, door, reason):
        return door.metrics()[f'sluice_activator_retries_total{{reason="{reason}"}}']

    def test_a_draining_pods_refusal_goes_to_another_pod(self):
        door, first, second = self.two(DRAINING)
        for _ in range(4):
            self.assert_answer(door.get(), 200, b'ok')
        self.assertGreater(len(requests_of(first)), 0)
        self.assertEqual(len(requests_of(second)), 4)
        self.assertEqual(self.retries(door, 'draining'), len(requests_of(first)))

    def test_a_full_pods_refusal_goes_to_another_pod(self):
        door, first, second = self.two(FULL)
        for _ in range(4):
            self.assert_answer(door.get(), 200, b'ok')
        self.assertEqual(len(requests_of(second)), 4)
        self.assertEqual(self.retries(door, 'queue-full'), len(requests_of(first)))

    def test_the_refusal_of_the_only_full_pod_is_passed_on(self):
        only = self.played(sidecar_play(FULL))
        self.platform.revision(pods=[('p', only.address)])
        door = self.activator()
        answer = door.get()
        self.assert_answer(answer, 503, b'pending queue\n')
        self.assertEqual(answer.headers['sluice-error'], 'queue-full; at=queue-proxy')

    def test_an_applications_own_503_is_its_answer(self):
        door, first, _ = self.two(PLAIN)
        answers = [door.get() for _ in range(2)]
        self.assertEqual(sorted(answer.status for answer in answers), [200, 503])
        self.assertEqual(len(requests_of(first)), 1)

    def test_a_request_whose_body_was_sent_is_not_sent_again(self):
        first = self.played(sidecar_play(DRAINING))
        self.platform.revision(pods=[('p', first.address)])
        door = self.activator()
        answer = door.get(method='POST', body=b'x' * 10)
        self.assertEqual(answer.status, 503)
        self.assertEqual(len(requests_of(first)), 1)

    def test_requests_that_may_not_be_repeated_are_not_repeated_in_a_crowd_either(self):
        def play(exchange):
            if exchange.head.startswith('POST'):
                exchange.sock.shutdown(socket.SHUT_RDWR)
                return
            exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')

        pod = self.played(sidecar_play(play))
        self.platform.revision()
        door = self.activator()
        named = 'Host: app\r\nKnative-Serving-Namespace: default\r\nKnative-Serving-Revision: app\r\n'
        upgrade = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n'
        clients = []
        for number in range(300):
            sock = door.connect()
            self.addCleanup(sock.close)
            clients.append(sock)
            if number % 3 == 2:
                sock.sendall(f'POST /{number} HTTP/1.1\r\n{named}{upgrade}Content-Length: 5\r\n\r\nhello'
                             .encode())
            else:
                sock.sendall(f'GET /{number} HTTP/1.1\r\n{named}\r\n'.encode())
        self.wait_for_waiting(door, 300)
        self.platform.pods_of([('p', pod.address)])
        for sock in clients:
            self.assertNotEqual(sock.recv(65536), b'', 'closed without a word')
        paths = [one.path for one in requests_of(pod)]
        self.assertEqual(sorted(paths), sorted(set(paths)))
        self.assertEqual(len(paths), 300)

    def test_a_pod_that_cannot_be_reached_is_left_for_another(self):
        door, first, second = self.two(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
        first.close()
        for sock in [one.sock for one in first.seen]:
            sock.shutdown(socket.SHUT_RDWR)
        for _ in range(6):
            self.assert_answer(door.get(), 200, b'ok')
        self.assertGreaterEqual(len(requests_of(second)), 5)

    def test_row_16_a_failure_in_the_middle_is_reported_and_never_repeated(self):
        served = []

        def cut(exchange):
            served.append(exchange)
            exchange.sock.shutdown(2)

        only = self.played(sidecar_play(cut))
        self.platform.revision(pods=[('p', only.address)])
        door = self.activator()
        answer = door.get(method='POST', body=b'once')
        self.assertEqual(answer.status, 502)
        self.assertTrue(answer.body.endswith(b'\n'))
        self.assert_cause(answer, 'upstream')
        self.assertEqual(len(served), 1)

    def test_a_request_whose_pod_has_exited_waits_for_the_next_pod(self):
        port = free_port()
        pod = self.pod(QUEUE_SERVING_PORT=f'127.0.0.1:{port}')
        self.platform.revision(pods=[pod.entry])
        door = self.activator(PROBE_FREQUENCY='20ms')
        self.assert_answer(door.get(), 200, b'ok')
        pod.sidecar.process.kill()
        pod.sidecar.process.wait(10)
        asked = self.ask(door)
        self.wait_for_waiting(door, 1)
        other = self.pod(name='pod-2')
        self.platform.pods_of([other.entry])
        self.assert_answer(asked.result(), 200, b'ok')

    def test_a_pod_restarted_at_its_address_serves_requests_that_failed_on_it(self):
        port = free_port()
        pod = self.pod(QUEUE_SERVING_PORT=f'127.0.0.1:{port}')
        self.platform.revision(pods=[pod.entry])
        door = self.activator(PROBE_FREQUENCY='20ms')
        self.assert_answer(door.get(), 200, b'ok')
        pod.sidecar.process.kill()
        pod.sidecar.process.wait(10)
        asked = self.ask(door)
        self.wait_for_waiting(door, 1)
        self.pod(QUEUE_SERVING_PORT=f'127.0.0.1:{port}')
        self.assert_answer(asked.result(), 200, b'ok')


if __name__ == '__main__':
    unittest.main()
