"""Tunnels: WebSocket and any other upgrade, rows 41 and 73, and how a tunnel ends."""

import socket
import threading
import time
import unittest

from queue_proxy import websocket
from queue_proxy.case import PATIENCE, SidecarCase, eventually, reset, until_closed
from queue_proxy.websocket import BINARY, CLOSE, PING, PONG, TEXT, frame, read_frame
from sidecar import OK
from wire import Deadline, request_bytes

SWITCH = b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: own/1\r\nConnection: Upgrade\r\n\r\n'
ASK = b'GET /own HTTP/1.1\r\nHost: app\r\nUpgrade: own/1\r\nConnection: Upgrade\r\n\r\n'


def close_code(payload):
    return int.from_bytes(payload[:2], 'big')


class TunnelCase(SidecarCase):
    def websocket(self, play=websocket.echo, **environment):
        proxy = self.sidecar(play, **environment)
        sock, reader = self.ask(proxy, websocket.handshake())
        status, headers = reader.head()
        self.assertEqual(status, 101)
        self.assertEqual(headers['upgrade'], 'websocket')
        self.assertEqual(headers['connection'].lower(), 'upgrade')
        self.assertEqual(headers['sec-websocket-accept'], 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
        return proxy, sock, reader

    def assert_echo(self, sock, reader, text):
        sock.sendall(frame(TEXT, text))
        self.assertEqual(read_frame(reader), (TEXT, text, True))


class WebSocket(TunnelCase):
    def test_the_request_arrives_as_an_upgrade(self):
        self.websocket()
        self.assertEqual(self.seen()['upgrade'], 'websocket')
        self.assertEqual(self.seen()['connection'].lower(), 'upgrade')
        self.assertEqual(self.seen()['origin'], 'http://app')

    def test_fragmented_masked_frames_with_pings_between_them_pass(self):
        # As browsers send them: a message in pieces, control frames between the pieces, and each
        # frame cut across several segments.
        _, sock, reader = self.websocket()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream = (frame(TEXT, b'Hel', last=False) + frame(PING, b'ping') +
                  frame(0, b'lo ', last=False) + frame(0, b'world') + frame(BINARY, b'\0' * 70_000))
        for at in range(0, 60):
            sock.sendall(stream[at:at + 1])
        sock.sendall(stream[60:])
        got = [read_frame(reader) for _ in range(5)]
        self.assertEqual(got, [(TEXT, b'Hel', False), (PONG, b'ping', True), (0, b'lo ', False),
                               (0, b'world', True), (BINARY, b'\0' * 70_000, True)])
        sock.sendall(frame(CLOSE, b'\x03\xe8bye'))
        self.assertEqual(read_frame(reader), (CLOSE, b'\x03\xe8bye', True))
        self.assertEqual(until_closed(sock), b'')

    def test_bytes_right_behind_the_request_are_delivered(self):
        proxy = self.sidecar(websocket.echo)
        _, reader = self.ask(proxy, websocket.handshake() + frame(TEXT, b'early'))
        self.assertEqual(reader.head()[0], 101)
        self.assertEqual(read_frame(reader), (TEXT, b'early', True))

    def test_bytes_right_behind_the_answer_are_delivered(self):
        def greet(exchange):
            exchange.send(SWITCH + b'hello')
            exchange.reader.more()

        _, reader = self.ask(self.sidecar(greet), ASK)
        self.assertEqual(reader.head()[0], 101)
        self.assertEqual(reader.exactly(5), b'hello')

    def test_a_tunnel_is_one_request_in_flight(self):
        proxy, sock, reader = self.websocket(CONTAINER_CONCURRENCY='1', SLUICE_QUEUE_DEPTH='1')
        self.assert_echo(sock, reader, b'first')
        _, waiting = self.ask(proxy, request_bytes('GET', '/next', 'app'))
        eventually(lambda: proxy.get('/refused').status == 503, 'one waits behind the tunnel')
        self.assert_echo(sock, reader, b'still')
        self.upstream.play = lambda exchange: exchange.send(OK)
        sock.close()
        self.assert_answer(waiting.answer(), 200, b'ok')

    def test_a_huge_message_passes_both_ways_at_once(self):
        _, sock, reader = self.websocket()
        message = frame(BINARY, bytes(range(256)) * 32_768)
        sender = threading.Thread(target=sock.sendall, args=(message,), daemon=True)
        sender.start()
        self.assertEqual(read_frame(reader), (BINARY, bytes(range(256)) * 32_768, True))
        sender.join(PATIENCE)

    def test_a_refused_handshake_is_an_ordinary_answer(self):
        proxy = self.sidecar(lambda exchange: exchange.send(
            b'HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno'))
        sock, reader = self.ask(proxy, websocket.handshake())
        self.assert_answer(reader.answer(), 403, b'no')
        sock.sendall(request_bytes('GET', '/next', 'app'))
        self.assert_answer(reader.answer(), 403, b'no')


class TunnelTimers(TunnelCase):
    def exchange_for(self, seconds, sock, reader):
        """Keeps the tunnel busy that long; true while it is open."""
        deadline = Deadline(seconds)
        pause = threading.Event()
        while not deadline.passed():
            self.assert_echo(sock, reader, b'busy')
            pause.wait(0.1)

    def test_row_41_a_busy_tunnel_outlives_the_idle_timer(self):
        _, sock, reader = self.websocket(REVISION_IDLE_TIMEOUT_SECONDS='1')
        self.exchange_for(1.6, sock, reader)

    def test_the_switch_satisfies_the_response_start_timer(self):
        _, sock, reader = self.websocket(REVISION_RESPONSE_START_TIMEOUT_SECONDS='1')
        self.exchange_for(1.4, sock, reader)

    def ends_with_going_away(self, sock, reader):
        """The tunnel ends by a close frame 1001 to the client, then the end of the connection."""
        got = read_frame(reader)
        self.assertIsNotNone(got, 'the tunnel was cut without a close frame')
        self.assertEqual((got[0], close_code(got[1])), (CLOSE, 1001))
        sock.sendall(frame(CLOSE, b'\x03\xe9'))
        self.assertEqual(until_closed(sock), b'')

    def test_row_41_an_idle_tunnel_is_ended_with_a_close_frame(self):
        began = time.monotonic()
        _, sock, reader = self.websocket(REVISION_IDLE_TIMEOUT_SECONDS='1')
        self.ends_with_going_away(sock, reader)
        self.assertGreaterEqual(time.monotonic() - began, 0.99)
        self.upstream.wait_for_closed(1)

    def test_the_end_of_the_time_ends_a_busy_tunnel_with_a_close_frame(self):
        proxy, sock, reader = self.websocket(REVISION_TIMEOUT_SECONDS='1')
        try:
            while True:
                sock.sendall(frame(TEXT, b'busy'))
                got = read_frame(reader)
                if got is None or got[0] == CLOSE:
                    break
        except OSError:
            got = None
        self.assertIsNotNone(got, 'the tunnel was cut without a close frame')
        self.assertEqual((got[0], close_code(got[1])), (CLOSE, 1001))
        self.upstream.play = lambda exchange: exchange.send(OK)
        self.assert_serves(proxy)

    def test_a_close_frame_never_lands_inside_another_frame(self):
        # The container is in the middle of a long frame when the time ends: what follows would be
        # read as part of it, so no close frame may be sent there.
        def half_a_frame(exchange):
            websocket.accept(exchange)
            exchange.send(frame(BINARY, b'x' * 1000, masked=False)[:500])
            exchange.reader.more()

        _, sock, reader = self.websocket(half_a_frame, REVISION_TIMEOUT_SECONDS='1')
        self.assertEqual(set((reader.data + until_closed(sock))[4:]), {ord('x')})


class OtherUpgrades(TunnelCase):
    def tunnel(self, play, **environment):
        proxy = self.sidecar(play, **environment)
        sock, reader = self.ask(proxy, ASK)
        self.assertEqual(reader.head()[0], 101)
        return proxy, sock, reader

    def test_any_protocol_is_tunnelled(self):
        def upper(exchange):
            exchange.send(SWITCH)
            while exchange.reader.data or exchange.reader.more():
                exchange.send(exchange.reader.data.upper())
                exchange.reader.data = b''

        _, sock, reader = self.tunnel(upper)
        for _ in range(50):
            sock.sendall(b'abc\r\n\r\n')
            self.assertEqual(reader.exactly(7), b'ABC\r\n\r\n')

    def test_the_clients_end_leaves_the_other_direction_open(self):
        def answer_at_the_end(exchange):
            exchange.send(SWITCH)
            while exchange.reader.more():
                pass
            exchange.send(b'got ' + exchange.reader.data)

        _, sock, reader = self.tunnel(answer_at_the_end)
        sock.sendall(b'all of it')
        sock.shutdown(socket.SHUT_WR)
        self.assertEqual(reader.data + until_closed(sock), b'got all of it')

    def test_the_containers_end_leaves_the_other_direction_open(self):
        got = []
        done = threading.Event()

        def finish_first(exchange):
            exchange.send(SWITCH + b'bye')
            exchange.sock.shutdown(socket.SHUT_WR)
            while exchange.reader.more():
                pass
            got.append(exchange.reader.data)
            done.set()

        _, sock, reader = self.tunnel(finish_first)
        self.assertEqual(reader.data + until_closed(sock), b'bye')
        sock.sendall(b'still here')
        sock.shutdown(socket.SHUT_WR)
        self.assertTrue(done.wait(PATIENCE), 'the container never saw the end')
        self.assertEqual(got, [b'still here'])

    def test_a_reset_of_either_side_ends_both(self):
        ended = threading.Event()

        def hold(exchange):
            exchange.send(SWITCH)
            try:
                exchange.reader.more()
            finally:
                ended.set()

        _, sock, _ = self.tunnel(hold)
        reset(sock)
        self.assertTrue(ended.wait(PATIENCE), 'the container never heard of the reset')

        def drop(exchange):
            exchange.send(SWITCH)
            exchange.reader.more()
            reset(exchange.sock)

        _, sock, reader = self.tunnel(drop)
        sock.sendall(b'x')
        self.assertEqual(reader.data + until_closed(sock), b'')

    def test_a_switch_to_another_protocol_than_requested_is_502(self):
        proxy = self.sidecar(lambda exchange: exchange.send(SWITCH.replace(b'own/1', b'other/2')))
        _, reader = self.ask(proxy, ASK)
        answer = reader.answer()
        self.assertEqual(answer.status, 502)
        self.assert_cause(answer, 'upstream')

    def test_an_unrequested_switch_is_502(self):
        proxy = self.sidecar(lambda exchange: exchange.send(SWITCH))
        _, reader = self.ask(proxy, request_bytes('GET', '/', 'app'))
        self.assertEqual(reader.answer().status, 502)

    def test_an_upgrade_that_connection_does_not_name_is_ignored(self):
        proxy = self.sidecar()
        _, reader = self.ask(proxy, b'GET / HTTP/1.1\r\nHost: app\r\nUpgrade: own/1\r\n\r\n')
        self.assert_answer(reader.answer(), 200, b'ok')
        self.assertNotIn('upgrade', self.seen())

    def test_statistics_count_a_tunnel_until_it_closes(self):
        def hold(exchange):
            exchange.send(SWITCH)
            exchange.reader.more()

        proxy, sock, _ = self.tunnel(hold)
        eventually(lambda: self.in_flight(proxy) == 1.0, 'a report shows one request all the time')
        sock.close()
        eventually(lambda: self.in_flight(proxy) == 0.0, 'a report shows none')


if __name__ == '__main__':
    unittest.main()
