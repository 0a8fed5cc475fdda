"""What goes through besides plain HTTP/1.1: HTTP/2, gRPC, WebSocket, streams, full duplex."""

import threading
import unittest

from activator.case import ActivatorCase, Asker, eventually
from queue_proxy import h2_peers
from queue_proxy.websocket import TEXT, echo, frame, handshake, read_frame
from sidecar import Sidecar
from wire import Reader

NAMED = [('Knative-Serving-Namespace', 'default'), ('Knative-Serving-Revision', 'app')]
LOWER = [(name.lower(), value) for name, value in NAMED]


class Http2(ActivatorCase):
    def through(self, play, pods=1, **fields):
        self.containers = []
        entries = []
        for number in range(pods):
            container = h2_peers.Container(play)
            self.addCleanup(container.close)
            sidecar = Sidecar(container.port)
            self.addCleanup(sidecar.close)
            self.containers.append(container)
            entries.append((f'p{number}', sidecar.serving))
        self.platform.revision(pods=entries, protocol='h2c', **fields)
        return self.activator()

    def client(self, address):
        made = h2_peers.Client(address)
        self.addCleanup(made.close)
        return made

    def test_prior_knowledge_is_served_on_both_doors(self):
        door = self.through(lambda connection, stream: connection.answer(stream))
        for address in (door.serving, door.h2c):
            self.assertEqual(self.client(address).get(headers=LOWER).data, b'ok')

    def test_streams_of_one_connection_are_spread_over_pods(self):
        gate = threading.Event()
        self.addCleanup(gate.set)

        def answer(connection, stream):
            gate.wait(20)
            connection.answer(stream)

        door = self.through(answer, 2)
        passed = 'sluice_activator_pod_probes_total{result="passed"}'
        eventually(lambda: door.metrics()[passed] >= 2, 'both probed')
        client = self.client(door.h2c)
        streams = [client.request(headers=LOWER) for _ in range(4)]
        eventually(lambda: sum(len(one.seen) for one in self.containers) == 4, 'all placed')
        self.assertEqual([len(one.seen) for one in self.containers], [2, 2])
        gate.set()
        for stream in streams:
            self.assertEqual(client.over(stream).status, 200)

    def test_a_held_stream_keeps_no_other_stream_of_its_connection_waiting(self):
        door = self.through(lambda connection, stream: connection.answer(stream))
        self.platform.revision('cold', pods=[])
        eventually(lambda: door.metrics()['sluice_activator_revisions'] == 2, 'known')
        client = self.client(door.h2c)
        held = client.request(headers=[LOWER[0], ('knative-serving-revision', 'cold')])
        self.wait_for_waiting(door, 1)
        self.assertEqual(client.get(headers=LOWER).status, 200)
        client.reset(held.number)
        self.wait_for_waiting(door, 0)

    def test_grpc_trailers_and_messages_pass(self):
        def answer(connection, stream):
            connection.body(stream)
            connection.answer(stream, stream.data, headers=[('content-type', 'application/grpc')],
                              trailers=[('grpc-status', '0')])

        door = self.through(answer)
        got = self.client(door.h2c).get(
            headers=LOWER + [('content-type', 'application/grpc'), ('te', 'trailers')],
            method='POST', body=b'\0\0\0\0\5hello')
        self.assertEqual((got.status, got.data, got.trailers),
                         (200, b'\0\0\0\0\5hello', {'grpc-status': '0'}))

    def test_a_grpc_client_gets_refusals_as_grpc_status(self):
        door = self.through(lambda connection, stream: connection.answer(stream))
        got = self.client(door.h2c).get(
            headers=[LOWER[0], ('knative-serving-revision', 'missing'),
                     ('content-type', 'application/grpc'), ('te', 'trailers')], method='POST',
            body=b'')
        self.assertEqual(got.headers['grpc-status'], '12')
        self.assertIn('at=activator', got.headers['sluice-error'])


class Http1(ActivatorCase):
    def test_a_websocket_goes_through(self):
        door = self.serving(echo)
        sock = door.connect()
        reader = self.reader(sock)
        lines = ''.join(f'{name}: {value}\r\n' for name, value in NAMED).encode()
        sock.sendall(handshake().replace(b'Origin:', lines + b'Origin:'))
        self.assertEqual(reader.head()[0], 101)
        for text in (b'one', b'x' * 70000):
            sock.sendall(frame(TEXT, text))
            self.assertEqual(read_frame(reader)[1], text)

    def test_row_73_uploads_are_echoed_while_they_come(self):
        def echo_back(exchange):
            exchange.send(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
            left = int(exchange.headers['content-length'])
            while left > 0:
                part = exchange.reader.exactly(min(left, 4096))
                left -= len(part)
                exchange.send(f'{len(part):x}\r\n'.encode() + part + b'\r\n')
            exchange.send(b'0\r\n\r\n')

        door = self.serving(echo_back, annotations={
            'features.knative.dev/http-full-duplex': 'enabled'})
        body = bytes(range(256)) * 1024

        def upload():
            sock = door.connect()
            with sock:
                sock.sendall(b'POST / HTTP/1.1\r\nHost: app\r\n' + ''.join(
                    f'{name}: {value}\r\n' for name, value in NAMED).encode()
                    + f'Content-Length: {len(body)}\r\n\r\n'.encode())
                sender = threading.Thread(target=sock.sendall, args=(body,))
                sender.start()
                answer = Reader(sock).answer('POST')
                sender.join(20)
                return answer

        for asked in [Asker(upload) for _ in range(32)]:
            self.assert_answer(asked.result(), 200, body)

    def test_a_slow_application_times_out_by_the_limit_of_the_revision(self):
        gate = threading.Event()
        self.addCleanup(gate.set)
        door = self.serving(lambda exchange: gate.wait(20), timeout_seconds=60,
                            response_start_timeout_seconds=1)
        answer = door.get()
        self.assert_answer(answer, 504, b'activator request timeout')
        self.assert_cause(answer, 'timeout; timer=response-start')


if __name__ == '__main__':
    unittest.main()
