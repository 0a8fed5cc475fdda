"""The way out: unready, quiet, ended connections, and nothing lost (activator.md 10, 14.8)."""

import signal
import threading
import unittest

from activator.case import ActivatorCase, eventually
from queue_proxy import h2_frames as raw
from queue_proxy import h2_peers
from queue_proxy.websocket import CLOSE, TEXT, echo, frame, handshake, read_frame
from sidecar import Sidecar
from wire import request_bytes

NAMED = [('Knative-Serving-Namespace', 'default'), ('Knative-Serving-Revision', 'app')]
LOWER = [(name.lower(), value) for name, value in NAMED]


class Drain(ActivatorCase):
    def gated(self, **environment):
        self.gate = threading.Event()
        self.addCleanup(self.gate.set)

        def answer(exchange):
            self.gate.wait(20)
            exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')

        return self.serving(answer, environment=environment)

    def test_an_idle_one_ends_at_once_after_its_quiet_period(self):
        door = self.serving()
        door.terminate()
        self.assertEqual(door.process.wait(20), 0)

    def test_requests_are_served_during_the_quiet_period(self):
        door = self.serving(environment={'SLUICE_DRAIN_QUIET': '1h'})
        door.terminate()
        eventually(lambda: 'draining' in door.errors(), 'draining')
        for _ in range(3):
            self.assert_answer(door.get(), 200, b'ok')
        door.terminate()
        self.assertEqual(door.process.wait(20), 1, 'a second signal ends it at once')

    def test_running_and_waiting_requests_are_finished_before_it_exits(self):
        door = self.gated()
        self.platform.revision('cold', pods=[])
        eventually(lambda: door.metrics()['sluice_activator_revisions'] == 2, 'both known')
        running = self.ask(door)
        held = self.ask(door, revision='cold')
        eventually(lambda: self.only.seen and door.waiting() == 1, 'one runs, one waits')
        door.terminate()
        eventually(lambda: 'draining' in door.errors(), 'draining')
        self.assertIsNone(door.process.poll())
        self.platform.revision('cold', pods=[self.only.entry])
        self.gate.set()
        self.assert_answer(running.result(), 200, b'ok')
        self.assert_answer(held.result(), 200, b'ok')
        self.assertEqual(door.process.wait(20), 0)

    def test_a_websocket_gets_a_close_frame_and_is_waited_for(self):
        door = self.serving(echo)
        sock = door.connect()
        reader = self.reader(sock)
        lines = ''.join(f'{name}: {value}\r\n' for name, value in NAMED).encode()
        sock.sendall(handshake().replace(b'Origin:', lines + b'Origin:'))
        self.assertEqual(reader.head()[0], 101)
        sock.sendall(frame(TEXT, b'one'))
        self.assertEqual(read_frame(reader)[1], b'one')
        door.terminate()
        opcode, payload, _ = read_frame(reader)
        self.assertEqual((opcode, payload[:2]), (CLOSE, (1001).to_bytes(2, 'big')))
        self.assertIsNone(door.process.poll())
        sock.sendall(frame(CLOSE, payload))
        self.assertEqual(door.process.wait(20), 0)

    def test_http_2_clients_get_a_goaway_and_their_streams_finish(self):
        self.gate = threading.Event()
        self.addCleanup(self.gate.set)

        def answer(connection, stream):
            self.gate.wait(20)
            connection.answer(stream)

        container = h2_peers.Container(answer)
        self.addCleanup(container.close)
        sidecar = Sidecar(container.port)
        self.addCleanup(sidecar.close)
        self.platform.revision(pods=[('p', sidecar.serving)], protocol='h2c')
        door = self.activator()
        # In raw frames: Debian's h2 takes every GOAWAY for the end of the connection.
        client = raw.RawConnection(door.h2c)
        self.addCleanup(client.close)
        client.request(1, (*raw.REQUEST, *LOWER))
        eventually(lambda: container.seen, 'running')
        door.terminate()
        goaway = client.until(lambda one: one[0] == raw.GOAWAY)
        self.assertEqual(goaway[3][4:8], b'\0\0\0\0')
        self.gate.set()
        self.assertIsNotNone(client.until(lambda one: one[0] == raw.DATA and one[1] & 1))
        self.assertEqual(door.process.wait(20), 0)

    def test_idle_connections_are_closed_at_the_end_of_the_quiet_period(self):
        door = self.gated()
        sock = door.connect()
        reader = self.reader(sock)
        self.gate.set()
        sock.sendall(request_bytes('GET', '/', 'app', NAMED))
        self.assertEqual(reader.answer().status, 200)
        self.gate.clear()
        running = self.ask(door)
        eventually(lambda: len(self.only.seen) == 2, 'running')
        door.process.send_signal(signal.SIGINT)
        self.assertIsNone(reader.head(), 'the idle connection ends')
        self.gate.set()
        self.assertEqual(running.result().status, 200)
        self.assertEqual(door.process.wait(20), 0)


if __name__ == '__main__':
    unittest.main()
