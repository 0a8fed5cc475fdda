"""The end of a sidecar's life: rows 16, 17 and 64, and 15.5 with all its doors."""

import signal
import socket
import subprocess
import threading
import time
import unittest

from engine import QUEUE_PROXY
from queue_proxy import websocket
from queue_proxy.case import KUBELET, PATIENCE, QUEUE, SidecarCase, eventually, until_closed
from queue_proxy.websocket import CLOSE, TEXT, frame, read_frame
from wire import fetch, request_bytes


def host_address():
    """An address of this host that is not loopback, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(('192.0.2.1', 9))  # sends nothing: only asks for the route
            address = probe.getsockname()[0]
        except OSError:
            return None
    return None if address.startswith('127.') else address


class DrainCase(SidecarCase):
    def probe(self, proxy):
        return proxy.get('/healthz', headers=[KUBELET, QUEUE])

    def until_draining(self, proxy):
        """Waits until probes fail; an idle connection of the moment may be closed unanswered."""
        def failing():
            try:
                answer = self.probe(proxy)
            except ConnectionError:
                return None
            return answer if answer is not None and answer.status == 503 else None
        return eventually(failing, 'probes say that it drains')

    def in_background(self, action):
        """Runs `action` in a thread; returns the list its result will be put in, and the thread."""
        result = []
        thread = threading.Thread(target=lambda: result.append(action()), daemon=True)
        thread.start()
        return result, thread

    def assert_ended(self, proxy):
        self.assertEqual(proxy.process.wait(PATIENCE), 0, proxy.errors()[-2000:])


class Signals(DrainCase):
    def test_row_16_probes_fail_while_draining(self):
        proxy = self.sidecar(SLUICE_DRAIN_QUIET='4s')
        proxy.terminate()
        self.assert_answer(self.until_draining(proxy), 503, b'shutting down\n')
        network = [('K-Network-Probe', 'probe'), ('K-Network-Hash', 'abc')]
        answer = proxy.get(headers=network)
        self.assert_answer(answer, 503, b'shutting down\n')
        self.assert_cause(answer, 'draining')
        self.assertNotIn('retry-after', answer.headers)
        self.assert_ended(proxy)
        self.assertEqual(self.upstream.seen, [])

    def test_row_17_a_request_while_draining_is_served_and_restarts_the_quiet_time(self):
        proxy = self.sidecar(SLUICE_DRAIN_QUIET='3s')
        proxy.terminate()
        self.until_draining(proxy)
        began = time.monotonic()
        for _ in range(3):
            threading.Event().wait(1.2)
            self.assert_answer(proxy.get(), 200, b'ok')
        last = time.monotonic()
        self.assert_ended(proxy)
        self.assertGreater(last - began, 3.5)
        self.assertGreater(time.monotonic() - last, 2.9)

    def test_it_ends_with_the_quiet_time_when_nothing_is_in_flight(self):
        # Idle connections of clients hold nothing up.
        proxy = self.sidecar(SLUICE_DRAIN_QUIET='100ms')
        idle, reader = self.ask(proxy, request_bytes('GET', '/', 'app'))
        self.assert_answer(reader.answer(), 200, b'ok')
        proxy.terminate()
        self.assert_ended(proxy)
        self.assertEqual(until_closed(idle), b'')

    def test_interrupt_is_terminate(self):
        proxy = self.sidecar(SLUICE_DRAIN_QUIET='100ms')
        proxy.process.send_signal(signal.SIGINT)
        self.assert_ended(proxy)

    def test_what_is_in_flight_finishes_however_long_it_takes(self):
        gate = self.gate()
        proxy = self.sidecar(gate, SLUICE_DRAIN_QUIET='100ms')
        _, reader = self.ask(proxy, request_bytes('GET', '/slow', 'app'))
        eventually(lambda: gate.inside, 'the request reached the container')
        proxy.terminate()
        self.until_draining(proxy)
        with self.assertRaises(subprocess.TimeoutExpired):
            proxy.process.wait(0.5)  # five quiet times
        gate.open()
        self.assert_answer(reader.answer(), 200, b'ok')
        self.assert_ended(proxy)

    def test_responses_close_their_connections_from_the_start_of_the_drain(self):
        gate = self.gate()
        proxy = self.sidecar(gate, SLUICE_DRAIN_QUIET='1s')
        sock, reader = self.ask(proxy, request_bytes('GET', '/begun', 'app'))
        eventually(lambda: gate.inside, 'the request reached the container')
        proxy.terminate()
        self.until_draining(proxy)
        gate.open()
        answer = reader.answer()
        self.assert_answer(answer, 200, b'ok')
        self.assertEqual(answer.headers.get('connection', '').lower(), 'close')
        self.assertEqual(until_closed(sock), b'')

    def test_a_second_signal_ends_it_at_once_with_1(self):
        gate = self.gate()
        proxy = self.sidecar(gate, SLUICE_DRAIN_QUIET='60s')
        self.ask(proxy, request_bytes('GET', '/slow', 'app'))
        eventually(lambda: gate.inside, 'the request reached the container')
        proxy.terminate()
        self.until_draining(proxy)
        proxy.terminate()
        self.assertEqual(proxy.process.wait(PATIENCE), 1)

    def test_a_websocket_is_closed_with_going_away_after_the_quiet_time(self):
        proxy = self.sidecar(websocket.echo, SLUICE_DRAIN_QUIET='3s')
        sock, reader = self.ask(proxy, websocket.handshake())
        self.assertEqual(reader.head()[0], 101)
        proxy.terminate()
        self.until_draining(proxy)
        # Within the quiet time the tunnel continues unchanged.
        sock.sendall(frame(TEXT, b'still'))
        self.assertEqual(read_frame(reader), (TEXT, b'still', True))
        got = read_frame(reader)
        self.assertIsNotNone(got, 'the tunnel was cut without a close frame')
        self.assertEqual((got[0], got[1][:2]), (CLOSE, b'\x03\xe9'))
        sock.sendall(frame(CLOSE, b'\x03\xe9'))
        self.assertEqual(until_closed(sock), b'')
        sock.close()
        self.assert_ended(proxy)

    def test_a_websocket_client_that_ignores_the_close_holds_up_nothing_for_long(self):
        proxy = self.sidecar(websocket.echo, SLUICE_DRAIN_QUIET='100ms')
        sock, reader = self.ask(proxy, websocket.handshake())
        self.assertEqual(reader.head()[0], 101)
        proxy.terminate()
        self.assertEqual(read_frame(reader)[0], CLOSE)
        self.assert_ended(proxy)
        sock.close()


class Doors(DrainCase):
    def test_row_64_wait_for_drain_without_a_signal_is_undone_after_a_second(self):
        proxy = self.sidecar(SLUICE_DRAIN_QUIET='60s')
        began = time.monotonic()
        answers, thread = self.in_background(lambda: fetch(proxy.admin, '/wait-for-drain'))
        self.until_draining(proxy)
        thread.join(PATIENCE)
        self.assert_answer(answers[0], 200, b'')
        self.assertGreater(time.monotonic() - began, 0.9)
        self.assert_answer(self.probe(proxy), 200, b'queue')
        self.assert_serves(proxy)

    def test_a_drain_that_starts_within_that_second_is_not_undone(self):
        proxy = self.sidecar(SLUICE_DRAIN_QUIET='4s')
        answers, thread = self.in_background(lambda: fetch(proxy.admin, '/wait-for-drain'))
        self.until_draining(proxy)
        proxy.terminate()
        self.assert_ended(proxy)
        thread.join(PATIENCE)
        self.assert_answer(answers[0], 200, b'')

    def test_drain_starts_it_and_answers_when_all_is_over(self):
        gate = self.gate()
        proxy = self.sidecar(gate, SLUICE_DRAIN_QUIET='100ms')
        _, reader = self.ask(proxy, request_bytes('GET', '/slow', 'app'))
        eventually(lambda: gate.inside, 'the request reached the container')
        answers, thread = self.in_background(lambda: fetch(proxy.admin, '/drain'))
        self.until_draining(proxy)
        thread.join(0.5)
        self.assertEqual(answers, [], 'answered while a request was in flight')
        gate.open()
        self.assert_answer(reader.answer(), 200, b'ok')
        thread.join(PATIENCE)
        self.assert_answer(answers[0], 200, b'')
        self.assert_ended(proxy)

    def test_several_callers_share_one_drain(self):
        proxy = self.sidecar(SLUICE_DRAIN_QUIET='500ms')
        waiting = [self.in_background(lambda path=path: fetch(proxy.admin, path))
                   for path in ('/wait-for-drain', '/drain', '/wait-for-drain', '/drain')]
        for answers, thread in waiting:
            thread.join(PATIENCE)
            self.assert_answer(answers[0], 200, b'')
        self.assert_ended(proxy)

    def test_drain_is_for_loopback_only(self):
        address = host_address()
        if address is None:
            return  # on a host without another address no caller can be refused
        proxy = self.sidecar(SLUICE_ADMIN_ADDRESS='0.0.0.0:0')
        port = proxy.admin.rsplit(':', 1)[1]
        self.assert_answer(fetch(f'{address}:{port}', '/drain'), 404, b'404 page not found\n')
        self.assert_answer(self.probe(proxy), 200, b'queue')

    def reached_from_afar(self, host='0.0.0.0', **environment):
        """A sidecar and its administration port by an address that is not loopback, or None."""
        address = host_address()
        if address is None:
            return None, None  # a host without any other address has no other caller
        environment = {name: value.format(address=address) for name, value in environment.items()}
        proxy = self.sidecar(SLUICE_ADMIN_ADDRESS=f'{host}:0', **environment)
        return proxy, f"{address}:{proxy.admin.rsplit(':', 1)[1]}"

    def test_a_call_from_elsewhere_starts_no_drain_and_is_answered_after_a_second(self):
        proxy, admin = self.reached_from_afar(SLUICE_DRAIN_QUIET='60s')
        if proxy is None:
            return
        for _ in range(3):
            began = time.monotonic()
            answers, thread = self.in_background(lambda: fetch(admin, '/wait-for-drain'))
            while thread.is_alive():
                self.assert_answer(self.probe(proxy), 200, b'queue')
                thread.join(0.05)
            self.assert_answer(answers[0], 200, b'')
            self.assertGreater(time.monotonic() - began, 0.9)

    def test_a_call_from_elsewhere_while_a_drain_runs_is_answered_at_its_end(self):
        # As a kubelet's preStop from an address that no setting names, and the SIGTERM right behind it.
        gate = self.gate()
        address = host_address()
        if address is None:
            return
        proxy = self.sidecar(gate, SLUICE_ADMIN_ADDRESS='0.0.0.0:0', SLUICE_DRAIN_QUIET='100ms')
        admin = f"{address}:{proxy.admin.rsplit(':', 1)[1]}"
        _, reader = self.ask(proxy, request_bytes('GET', '/slow', 'app'))
        eventually(lambda: gate.inside, 'the request reached the container')
        early, early_thread = self.in_background(lambda: fetch(admin, '/wait-for-drain'))
        proxy.terminate()
        self.until_draining(proxy)
        late, late_thread = self.in_background(lambda: fetch(admin, '/wait-for-drain'))
        late_thread.join(1.5)
        self.assertEqual((early, late), ([], []), 'answered while the drain ran')
        gate.open()
        self.assert_answer(reader.answer(), 200, b'ok')
        for answers, thread in ((early, early_thread), (late, late_thread)):
            thread.join(PATIENCE)
            self.assert_answer(answers[0], 200, b'')
        self.assert_ended(proxy)

    def test_the_node_and_the_pod_itself_start_a_drain(self):
        for variable in ('SLUICE_NODE_ADDRESS', 'SERVING_POD_IP'):
            proxy, admin = self.reached_from_afar(**{variable: '{address}'})
            if proxy is None:
                return
            answers, thread = self.in_background(lambda admin=admin: fetch(admin, '/wait-for-drain'))
            self.until_draining(proxy)
            thread.join(PATIENCE)
            self.assert_answer(answers[0], 200, b'')
            self.assert_answer(self.probe(proxy), 200, b'queue')

    def test_a_node_of_both_families_is_known_by_either_through_a_socket_of_both(self):
        proxy, admin = self.reached_from_afar('[::]', SLUICE_NODE_ADDRESS='2001:db8::7,{address}')
        if proxy is None:
            return
        answers, thread = self.in_background(lambda: fetch(admin, '/wait-for-drain'))
        self.until_draining(proxy)
        thread.join(PATIENCE)
        self.assert_answer(answers[0], 200, b'')

    def test_another_path_is_404(self):
        proxy = self.sidecar()
        self.assert_answer(fetch(proxy.admin, '/other'), 404, b'404 page not found\n')

    def test_the_program_itself_asks_for_the_drain_and_waits(self):
        proxy = self.sidecar(SLUICE_DRAIN_QUIET='200ms')
        environment = {'SLUICE_ADMIN_ADDRESS': proxy.admin}
        asked = subprocess.run([QUEUE_PROXY, '--drain'], env=environment, timeout=PATIENCE,
                               capture_output=True)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        self.assert_ended(proxy)

    def test_asking_for_a_drain_without_a_sidecar_fails(self):
        with socket.create_server(('127.0.0.1', 0)) as taken:
            port = taken.getsockname()[1]
        environment = {'SLUICE_ADMIN_ADDRESS': f'127.0.0.1:{port}'}
        asked = subprocess.run([QUEUE_PROXY, '--drain'], env=environment, timeout=PATIENCE,
                               capture_output=True)
        self.assertEqual(asked.returncode, 1)
        self.assertIn(str(port), asked.stderr.decode())

    def test_statistics_are_scraped_until_the_end(self):
        proxy = self.sidecar(SLUICE_DRAIN_QUIET='10s')
        proxy.terminate()
        self.until_draining(proxy)
        self.assertEqual(fetch(proxy.stats, '/metrics').status, 200)
        self.assert_ended(proxy)


if __name__ == '__main__':
    unittest.main()
